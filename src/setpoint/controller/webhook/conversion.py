"""Conversion of custom resources between versions, by a function or by a hub and its spokes.

A conversion function takes a tree, its `apiVersion` and the desired one, and returns the converted tree, as in
`server.registry.conversion.functions`. The same function works in a control plane of the same process
(`ControlPlane(conversions={crd: function})`). With a hub, each spoke version defines only the conversions to and from
the hub; all others are derived.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from setpoint.client.kinds import kind_of
from setpoint.objects import codec
from setpoint.objects.errors import APIError
from setpoint.objects.tree import Object
from setpoint.schema.types.crd import plural_of
from setpoint.schema.types.resource import Resource
from setpoint.server.registry.conversion.functions import ConversionFunction, check_function
from setpoint.server.registry.conversion.review import GROUP, KIND, VERSIONS

PATH = "/convert"

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ConversionWebhook:
    """Converts the objects of one CustomResourceDefinition. See `convert` and `hub_and_spokes`."""

    # The name of the definition: `widgets.example.com`.
    crd: str
    function: ConversionFunction
    # The supported versions, if known; empty: all.
    versions: Sequence[str] = ()

    def __call__(self, tree: Object, from_version: str, to_version: str) -> Object:
        return self.function(tree, from_version, to_version)

    def check_covers(self, served: Sequence[str]) -> None:
        """Checks that all versions of the definition are supported. Raises ValueError."""
        missing = [version for version in served if self.versions and version not in self.versions]
        if missing:
            raise ValueError(f"no conversion of {self.crd} for version {', '.join(missing)}: add a spoke")


def convert(crd: str) -> Callable[[ConversionFunction], ConversionWebhook]:
    """Declares a function that converts the objects of a definition. Raises TypeError for a wrong signature.

    @convert("widgets.example.com")
    def converted(tree: Object, from_version: str, to_version: str) -> Object:
        return {**tree, "apiVersion": to_version}
    """

    def made(function: ConversionFunction) -> ConversionWebhook:
        check_function(crd, function)
        return ConversionWebhook(crd, function)

    return made


def hub_and_spokes(
    hub: type[Resource],
    spokes: Mapping[type[Resource], tuple[Callable[[Any], Resource], Callable[[Any], Resource]]],
) -> ConversionWebhook:
    """Converts between classes of one kind: each spoke has a function to the hub and one from the hub.

    Metadata that the functions do not set is carried over. Raises ValueError for classes of different kinds.

        widgets = hub_and_spokes(WidgetV2, {WidgetV1: (v1_to_v2, v2_to_v1)})
    """
    center = kind_of(hub).gvk
    ways: dict[str, tuple[type[Resource], Callable[[Any], Resource], Callable[[Any], Resource]]] = {}
    for spoke, (to_hub, from_hub) in spokes.items():
        gvk = kind_of(spoke).gvk
        if (gvk.group, gvk.kind) != (center.group, center.kind) or gvk.version == center.version:
            raise ValueError(f"{spoke.__name__} is not another version of {hub.__name__}: {gvk}")
        ways[gvk.api_version] = (spoke, to_hub, from_hub)

    def converted(tree: Object, from_version: str, to_version: str) -> Object:
        for version in (from_version, to_version):
            if version != center.api_version and version not in ways:
                raise ValueError(f"no conversion of {center.kind} for version {version}")
        metadata = tree.get("metadata")
        if from_version == center.api_version:
            obj: Resource = hub.from_json(tree)
        else:
            spoke, to_hub, _ = ways[from_version]
            obj = to_hub(spoke.from_json(tree))
        if to_version != center.api_version:
            obj = ways[to_version][2](obj)
        made = obj.to_json()
        if metadata is not None:
            given = made.get("metadata") or {}
            made["metadata"] = {**metadata, **{name: value for name, value in given.items() if value}}
        return made

    versions = [version.rpartition("/")[2] for version in (center.api_version, *ways)]
    plural = hub.__resource__.plural or plural_of(center.kind.lower())
    return ConversionWebhook(f"{plural}.{center.group}", converted, versions)


def answer(webhooks: Mapping[tuple[str, str], ConversionWebhook], body: bytes) -> bytes:
    """Returns the response to a ConversionReview. Raises ValueError for an invalid body.

    `webhooks` has the conversions by group and kind.
    """
    try:
        review = codec.decode(body)
    except APIError as error:
        raise ValueError(error.message) from None
    request = review.get("request") if isinstance(review, dict) else None
    version = str(review.get("apiVersion", "")).removeprefix(f"{GROUP}/") if isinstance(review, dict) else ""
    if not isinstance(request, dict) or version not in VERSIONS:
        raise ValueError(f"the body must be a {KIND} of {GROUP}/v1 with a request")
    found: Object = {"uid": request.get("uid", ""), "convertedObjects": []}
    try:
        wanted = str(request.get("desiredAPIVersion", ""))
        found["convertedObjects"] = [_converted(webhooks, each, wanted) for each in request.get("objects") or ()]
        found["result"] = {"status": "Success"}
    except Exception as error:
        if not isinstance(error, ValueError | APIError):
            _log.exception("a conversion failed")
        found["result"] = {"status": "Failure", "message": str(error) or type(error).__name__}
    return _encode({"kind": KIND, "apiVersion": f"{GROUP}/{version}", "response": found})


def _converted(webhooks: Mapping[tuple[str, str], ConversionWebhook], tree: Object, wanted: str) -> Object:
    given = str(tree.get("apiVersion", ""))
    if given == wanted:
        return tree
    group = wanted.rpartition("/")[0]
    webhook = webhooks.get((group, str(tree.get("kind", ""))))
    if webhook is None:
        raise ValueError(f"no conversion function registered for {tree.get('kind')} ({group})")
    return webhook(tree, given, wanted)
