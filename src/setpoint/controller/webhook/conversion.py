"""Conversion of custom resources between their versions, by functions or by a hub and its spokes.

A function takes a tree, the `apiVersion` it has and the one it is wanted in, and gives it in that one: as
`server.registry.conversion.functions` has it, so that the same function converts in a server's own process
(`ControlPlane(conversions={crd: function})`). With a hub, each other version says only how it becomes the hub and how
the hub becomes it; every way between two versions follows from that.
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
    """Converts the objects of one definition."""

    # The name of the definition: `widgets.example.com`.
    crd: str
    function: ConversionFunction
    # The versions that it knows, where it can say; none: it is taken to know all.
    versions: Sequence[str] = ()

    def __call__(self, tree: Object, from_version: str, to_version: str) -> Object:
        return self.function(tree, from_version, to_version)

    def check_covers(self, served: Sequence[str]) -> None:
        """Makes sure that it knows every version of its definition. Raises ValueError."""
        missing = [version for version in served if self.versions and version not in self.versions]
        if missing:
            raise ValueError(f"nobody converts {self.crd} of version {', '.join(missing)}: add it to its conversion")


def convert(crd: str) -> Callable[[ConversionFunction], ConversionWebhook]:
    """Makes a function convert the objects of a definition. Raises TypeError for one that cannot."""

    def made(function: ConversionFunction) -> ConversionWebhook:
        check_function(crd, function)
        return ConversionWebhook(crd, function)

    return made


def hub_and_spokes(
    hub: type[Resource],
    spokes: Mapping[type[Resource], tuple[Callable[[Any], Resource], Callable[[Any], Resource]]],
) -> ConversionWebhook:
    """Converts between classes of one kind: for each spoke, how it becomes the hub, and how the hub becomes it. What
    they leave of the metadata is carried over. Raises ValueError for classes that are not of one kind."""
    center = kind_of(hub).gvk
    ways: dict[str, tuple[type[Resource], Callable[[Any], Resource], Callable[[Any], Resource]]] = {}
    for spoke, (to_hub, from_hub) in spokes.items():
        gvk = kind_of(spoke).gvk
        if (gvk.group, gvk.kind) != (center.group, center.kind) or gvk.version == center.version:
            raise ValueError(f"{spoke.__name__} is no other version of {hub.__name__}: {gvk}")
        ways[gvk.api_version] = (spoke, to_hub, from_hub)

    def converted(tree: Object, from_version: str, to_version: str) -> Object:
        for version in (from_version, to_version):
            if version != center.api_version and version not in ways:
                raise ValueError(f"nobody converts {center.kind} of {version}")
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
    """The answer to a ConversionReview; `webhooks` by the group and kind of what they convert. Raises ValueError for
    a body that is none."""
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
        raise ValueError(f"nobody converts {tree.get('kind')} of {group}")
    return webhook(tree, given, wanted)
