"""Finds related objects: the dependents and the owners of an object."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from setpoint.client.client import Client
from setpoint.client.discovery import APIResource
from setpoint.client.kinds import KindRef
from setpoint.client.transport import Call, TransportError
from setpoint.client.watch import raw_events
from setpoint.objects.errors import APIError
from setpoint.objects.gvk import GroupKind, GroupVersion, GroupVersionKind
from setpoint.objects.tree import Object
from setpoint.past.object_ref import WORKLOADS, ObjectReference, resource_of
from setpoint.workload.kinds.api_names import APP_LABEL

_OWNERSHIP = "/apis/setpoint.dev/v1/ownership"
_SECONDS = 5.0
# The maximum depth of ownership, which also ends cycles.
_DEEPEST = 10
# Resources without ownership that may have very many objects.
_UNOWNED = frozenset({"events", "componentstatuses"})


class Related:
    """Finds related objects, and caches the lists."""

    def __init__(self, client: Client, resources: Sequence[APIResource]) -> None:
        self._client = client
        self._resources = resources
        self._listed: dict[tuple[APIResource, str, str], list[Object]] = {}

    async def owned(self, tree: Object, place: ObjectReference) -> list[ObjectReference]:
        """Returns the direct and indirect dependents of an object, each after its owner."""
        found: list[ObjectReference] = []
        uids = {(tree.get("metadata") or {}).get("uid", "")} - {""}
        having_owners = await self._having_owners(uids, place.namespace) if uids else []
        seen: set[str] = set(uids)
        for _ in range(_DEEPEST):
            next_: set[str] = set()
            for resource, item in having_owners:
                uid = item["metadata"].get("uid", "")
                if uid not in seen and uids & owner_uids(item):
                    found.append(_place(resource, item))
                    next_.add(uid)
            seen |= next_
            if not next_:
                break
            uids = next_
        return found

    async def _having_owners(self, uids: set[str], namespace: str) -> list[tuple[APIResource, Object]]:
        """Returns the dependents of owners, and possibly other objects with owners. Our own servers return them in one
        answer; others are listed kind by kind."""
        try:
            dependents = await self._list_dependents(uids)
        except (APIError, TransportError):
            return [each for each in await self._everything(namespace) if owner_uids(each[1])]
        found = []
        for tree in dependents:
            resource = resource_of(self._resources, GroupVersionKind.of(tree).group_kind)
            if resource is not None and owner_uids(tree):
                found.append((resource, tree))
        return found

    async def _list_dependents(self, uids: set[str]) -> list[Object]:
        query = [("watch", "true"), ("sendInitialEvents", "true"), *(("ownerUID", uid) for uid in sorted(uids))]
        found: list[Object] = []
        async with self._client.stream(Call("GET", _OWNERSHIP, query, timeout=_SECONDS)) as stream:
            async for event in raw_events(stream):
                if event.type == "BOOKMARK":
                    break
                found.append(msgspec.json.decode(event.object))
        return found

    async def of_app(self, app: str) -> list[ObjectReference]:
        """Returns the objects with the label of an app."""
        return [_place(resource, item) for resource, item in await self._everything("", f"{APP_LABEL}={app}")]

    async def inside(self, namespace: str) -> list[tuple[ObjectReference, Object]]:
        """Returns the objects in a namespace with their metadata, those with finalizers first."""
        found = [(_place(resource, item), item) for resource, item in await self._everything(namespace)]
        return sorted(found, key=lambda each: not each[1]["metadata"].get("finalizers"))

    async def workloads(self) -> list[ObjectReference]:
        """Returns all workloads."""
        kinds = [each for each in self._resources if WORKLOADS in each.categories and "list" in each.verbs]
        return [_place(resource, item) for resource, item in await self._of(kinds, "")]

    async def owners(self, tree: Object, namespace: str) -> list[tuple[ObjectReference, Object | None]]:
        """Returns the chain of controllers above an object, the nearest first; None for a deleted one."""
        found: list[tuple[ObjectReference, Object | None]] = []
        here: Object | None = tree
        while here is not None and len(found) < _DEEPEST:
            reference = _controller(here)
            place = None if reference is None else self._of_reference(reference, namespace)
            if reference is None or place is None:
                break
            try:
                here = await self._client.get(place.kind, place.name, place.namespace)
            except APIError:
                here = None
            if here is not None and here["metadata"].get("uid") != reference.get("uid"):
                here = None
            found.append((place, here))
        return found

    def place(self, kind: str, key: str) -> ObjectReference | None:
        """Returns the reference to an object from the notation of triggers: `Kind.group` and `namespace/name`."""
        resource = resource_of(self._resources, GroupKind.parse(kind)) if kind else None
        namespace, _, name = key.rpartition("/")
        return None if resource is None else ObjectReference(resource, name, namespace)

    def place_of(self, reference: Object) -> ObjectReference | None:
        """Returns the reference to the object of a log entry, or None if the kind is not served any more."""
        return self._of_reference(reference, reference.get("namespace", ""))

    def _of_reference(self, reference: Object, namespace: str) -> ObjectReference | None:
        kind = GroupVersion.parse(reference.get("apiVersion", "")).with_kind(reference.get("kind", "")).group_kind
        resource = resource_of(self._resources, kind)
        if resource is None:
            return None
        return ObjectReference(resource, reference.get("name", ""), namespace if resource.namespaced else "")

    async def _everything(self, namespace: str, labels: str = "") -> list[tuple[APIResource, Object]]:
        """Returns the objects of every kind, in a namespace or in all, that a label selector matches."""
        groups = {each.gvk.group_kind: each for each in reversed(self._resources) if "list" in each.verbs}
        kinds = [each for each in groups.values() if each.plural not in _UNOWNED]
        return await self._of([each for each in kinds if not namespace or each.namespaced], namespace, labels)

    async def _of(
        self, kinds: Iterable[APIResource], namespace: str, labels: str = ""
    ) -> list[tuple[APIResource, Object]]:
        kinds = list(kinds)
        listed = await asyncio.gather(
            *(self._list(each, namespace if each.namespaced else "", labels) for each in kinds)
        )
        return [(kind, item) for kind, items in zip(kinds, listed, strict=True) for item in items]

    async def _list(self, resource: APIResource, namespace: str, labels: str) -> list[Object]:
        key = resource, namespace, labels
        if key not in self._listed:
            try:
                ref = KindRef(resource.gvk, metadata_only=True)
                client = self._client.with_options(namespace="") if not namespace else self._client
                self._listed[key] = (await client.list(ref, namespace, labels=labels)).items
            except APIError:
                self._listed[key] = []  # objects without read permission are left out
        return self._listed[key]


def owner_uids(tree: Object) -> set[str]:
    return {each.get("uid", "") for each in tree["metadata"].get("ownerReferences") or ()}


def _controller(tree: Object) -> Object | None:
    references = (tree.get("metadata") or {}).get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), next(iter(references), None))


def _place(resource: APIResource, item: Object) -> ObjectReference:
    metadata = item["metadata"]
    return ObjectReference(resource, metadata["name"], metadata.get("namespace", ""))
