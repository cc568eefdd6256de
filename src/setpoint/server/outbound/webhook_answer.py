"""Decodes the responses of webhooks from JSON or YAML, with kube-apiserver's error messages."""

from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.goformat import json_type
from setpoint.objects.tree import Json, Object

# The size limit for YAML, which is slow to parse.
_YAML_BYTES = 64 << 10


class UnreadableAnswer(Exception):  # noqa: N818 - an outcome
    """The response cannot be decoded as a review."""


def decode_answer(body: bytes, limit: int) -> Object:
    """Returns the review in the body of a response. Raises UnreadableAnswer."""
    try:
        tree = codec.decode(body, limit)
    except APIError as error:
        tree = _as_yaml(body, error.message)
    if tree is None:
        tree = {}
    if type(tree) is not dict:
        wanted = (
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
        why = f"json: cannot unmarshal {json_type(tree)} into Go value of type {wanted}"
        raise UnreadableAnswer(f"couldn't get version/kind; json parse error: {why}")
    for name in ("apiVersion", "kind"):
        if type(tree.get(name, "")) is not str:
            why = f"json: cannot unmarshal {json_type(tree[name])} into Go struct field .{name} of type string"
            raise UnreadableAnswer(f"couldn't get version/kind; json parse error: {why}")
    return tree


def _as_yaml(body: bytes, why: str) -> Json:
    try:
        from setpoint.objects import yamltext  # few webhooks answer in YAML

        return yamltext.load(body, _YAML_BYTES).tree
    except APIError:
        raise UnreadableAnswer(f"couldn't get version/kind; json parse error: {why}") from None
