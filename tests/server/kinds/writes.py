"""A write path in miniature: what the rules of the kinds make of a body, without a server.

It does what the write path does around the rules (metadata, status, allocation), and keeps the objects in a dictionary.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from setpoint.objects import metavalidation
from setpoint.objects.field import FieldError
from setpoint.objects.tree import Object, copy
from setpoint.schema import builtin
from setpoint.server.registry.kinds import strategy_for
from setpoint.server.registry.kinds.core.service.allocator import Holdings, Pool, claims_of
from setpoint.server.registry.kinds.gotypes.empty_lists import nullify_empty
from setpoint.server.registry.kinds.gotypes.roundtrip import normalize

CREATED = "2024-05-01T10:00:00Z"
_KINDS = {(gvk.group, gvk.version, gvk.kind): name for gvk, name in builtin.kinds().items()}
PLURALS = {
    "configmaps": "ConfigMap",
    "endpoints": "Endpoints",
    "events": "Event",
    "limitranges": "LimitRange",
    "namespaces": "Namespace",
    "nodes": "Node",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "persistentvolumes": "PersistentVolume",
    "pods": "Pod",
    "podtemplates": "PodTemplate",
    "replicationcontrollers": "ReplicationController",
    "resourcequotas": "ResourceQuota",
    "secrets": "Secret",
    "serviceaccounts": "ServiceAccount",
    "services": "Service",
}
_WITHOUT_STATUS = {
    *("ConfigMap", "Endpoints", "Event", "LimitRange", "PodTemplate", "Secret", "ServiceAccount"),
}
_CLUSTER = {"Namespace", "Node", "PersistentVolume"}


class Place(NamedTuple):
    """What a path means: a kind of the core group, or of the group of events."""

    group: str
    kind: str
    namespace: str
    name: str
    subresource: str

    @property
    def definition(self) -> str:
        return _KINDS[self.group, "v1", self.kind]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name


def parse_path(path: str) -> Place | None:
    """The place a path means; None for what the core group does not have."""
    parts = path.strip("/").split("/")
    if parts[:2] == ["api", "v1"]:
        group, rest = "", parts[2:]
    elif parts[:3] == ["apis", "events.k8s.io", "v1"]:
        group, rest = "events.k8s.io", parts[3:]
    else:
        return None
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] in PLURALS:
        namespace, rest = rest[1], rest[2:]
    if not rest or rest[0] not in PLURALS:
        return None
    rest += ["", ""]
    return Place(group, PLURALS[rest[0]], namespace, rest[1], rest[2])


class Written(NamedTuple):
    tree: Object
    errors: list[FieldError]
    warnings: list[str]


class Writes:
    """The objects that were written so far."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}

    def admit(self, place: Place, body: Object) -> Object:
        """A body as an object. Raises ValueError where it is none."""
        tree: Object = {**copy(body), "apiVersion": f"{place.group}/v1".lstrip("/"), "kind": place.kind}
        normalize(tree, place.definition)
        strategy = self._strategy(place)
        if place.namespace:
            tree["metadata"]["namespace"] = place.namespace
        strategy.default(tree)
        return tree

    def create(self, place: Place, body: Object) -> Written:
        tree = self.admit(place, body)
        strategy = self._strategy(place)
        metadata = tree["metadata"]
        for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(name, None)
        metadata["uid"] = "00000000-0000-4000-8000-000000000000"
        metadata["creationTimestamp"] = CREATED
        metadata["resourceVersion"] = "1"
        if place.kind not in _WITHOUT_STATUS and not strategy.creates_with_status:
            tree.pop("status", None)
        if strategy.keeps_generation:
            metadata["generation"] = 1
        strategy.prepare_for_create(tree)
        nullify_empty(tree, place.definition)
        errors = strategy.allocate(tree, None, _pool(self._services())) if strategy.allocates else []
        if not errors:
            if not strategy.validates_metadata:
                errors = metavalidation.validate_create(
                    metadata,
                    namespaced=place.kind not in _CLUSTER,
                    name_rule=strategy.name_rule(tree),
                    needs_domains="" not in strategy.without_domains,
                )
            errors += strategy.validate_before_metadata(tree) + strategy.validate(tree)
        if not errors:
            self.objects[place.kind, place.namespace, metadata["name"]] = tree
        return Written(tree, errors, [] if errors else strategy.warnings(tree, None))

    def update(self, place: Place, body: Object) -> Written:
        old = self.objects[place.key]
        tree = self.admit(place, body)
        strategy = self._strategy(place)
        metadata, stored = tree["metadata"], old["metadata"]
        for name in ("uid", "creationTimestamp", "generation", "resourceVersion", "selfLink"):
            metadata.pop(name, None)
            if name in stored:
                metadata[name] = stored[name]
        if place.kind not in _WITHOUT_STATUS:
            if place.subresource == "status":
                for field in {*tree, *old} - {"metadata", "status"}:
                    _restore(tree, old, field)
            else:
                _restore(tree, old, "status")
        strategy.prepare_for_update(tree, old, place.subresource)
        nullify_empty(tree, place.definition)
        if strategy.keeps_generation and place.subresource != "status" and strategy.bumps_generation(tree, old):
            tree["metadata"]["generation"] = stored.get("generation", 0) + 1
        errors: list[FieldError] = []
        if strategy.allocates and not place.subresource:
            others = (service for service in self._services() if service is not old)
            errors = strategy.allocate(tree, old, _pool(others))
        if not errors:
            if not strategy.validates_metadata:
                errors = metavalidation.validate_update(tree["metadata"], stored)
            errors += strategy.validate_before_metadata(tree) + strategy.validate_update(tree, old, place.subresource)
        if not errors:
            self.objects[place.key] = tree
        return Written(tree, errors, [] if errors else strategy.warnings(tree, old))

    def _services(self) -> Iterator[Object]:
        return (tree for (kind, _, _), tree in self.objects.items() if kind == "Service")

    @staticmethod
    def _strategy(place: Place):  # type: ignore[no-untyped-def]
        found = strategy_for(place.group, place.kind)
        assert found is not None
        return found


def _restore(tree: Object, old: Object, field: str) -> None:
    if field in old:
        tree[field] = old[field]
    else:
        tree.pop(field, None)


def _pool(services: Iterable[Object]) -> Pool:
    """What is left when these Services have what they say they have."""
    holdings = Holdings()
    for position, service in enumerate(services):
        holdings.changed(str(position), claims_of(service))
    return holdings.pool()
