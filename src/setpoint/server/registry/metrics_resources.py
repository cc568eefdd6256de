"""The resources of metrics.k8s.io, which metrics-server adds to most clusters: the usage of pods and nodes.

They are computed for every request and never stored. A CustomResourceDefinition for the same resource takes their
place: tests may define PodMetrics of their own.
"""

from collections.abc import Sequence
from functools import cache, partial

from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.server.registry import kinds
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Strategy

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_VERBS = ("get", "list")
_USAGE: Object = {
    "type": "object",
    "description": "The used amounts of resources, by name.",
    "additionalProperties": {"type": "string"},
}
_TIME: Object = {
    "timestamp": {"type": "string", "format": "date-time", "description": "The end of the measured interval."},
    "window": {"type": "string", "description": "The length of the measured interval."},
}
_CONTAINER: Object = {
    "type": "object",
    "required": ["name", "usage"],
    "properties": {"name": {"type": "string", "description": "The name of the container."}, "usage": _USAGE},
}
_NODE: Object = {
    "type": "object",
    "description": "The usage of a node.",
    "required": ["timestamp", "window", "usage"],
    "properties": {**_TIME, "usage": _USAGE},
}
_POD: Object = {
    "type": "object",
    "description": "The usage of the containers of a pod.",
    "required": ["timestamp", "window", "containers"],
    "properties": {**_TIME, "containers": {"type": "array", "items": _CONTAINER}},
}


@cache
def templates() -> Sequence[Resource]:
    """Returns the resources that those of each server are copied from."""
    return (_resource("nodes", "NodeMetrics", False, _NODE), _resource("pods", "PodMetrics", True, _POD))


def _resource(plural: str, kind: str, namespaced: bool, schema: Object) -> Resource:
    return Resource(
        group=GROUP,
        version=VERSION,
        resource=plural,
        kind=kind,
        namespaced=namespaced,
        storage=Storage(GROUP, plural, namespaced, f"{GROUP}/{VERSION}", kind),
        make_strategy=partial(_strategy, kind),
        list_kind=f"{kind}List",
        verbs=_VERBS,
        is_replaceable=True,
        crd=_definition(plural, kind, namespaced, schema),
    )


def _strategy(kind: str) -> Strategy:
    return kinds.strategy_for(GROUP, kind) or Strategy()


def _definition(plural: str, kind: str, namespaced: bool, schema: Object) -> CustomResourceDefinition:
    """Returns the definition that OpenAPI publishes; no such object exists."""
    names = {"plural": plural, "kind": kind, "listKind": f"{kind}List"}
    version = {"name": VERSION, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    scope = "Namespaced" if namespaced else "Cluster"
    return CustomResourceDefinition.parse(
        {
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "names": names, "scope": scope, "versions": [version]},
            "status": {"acceptedNames": names, "storedVersions": [VERSION]},
        }
    )
