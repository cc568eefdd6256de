"""The objects that a controller owns: found by an index of the shared cache, adopted and released by labels.

An object belongs to the owner that its controller reference names. A matching object without a controller is adopted,
and an own object that does not match any more is released.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import KindRef, kind_of
from setpoint.client.patches import strategic
from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.objects.errors import Invalid, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.labels import Selector
from setpoint.objects.owners import controller_of, controller_reference
from setpoint.objects.tree import Object
from setpoint.system.turns import in_turns

# The index: the uid of the controller, or the namespace of an object without a controller.
_INDEX = "controller"


class AdoptionFailed(Exception):  # noqa: N818 - named for the event
    """An object could not be adopted, because its new owner is being deleted or was replaced."""


def controller_uid(entry: CachedObject[Any]) -> Iterable[str]:
    """Returns the value of an object in the index."""
    for reference in entry.meta.owner_references or ():
        if reference.controller:
            return (reference.uid,)
    return (_orphans(entry.meta.namespace),)


def _orphans(namespace: str) -> str:
    return f"orphans in {namespace}"


async def candidates(ctx: Context[Any], kind: str, owner: Object) -> list[Object]:
    """Returns the objects that an owner controls, and those of its namespace without a controller. The result shows
    all own writes."""
    # The read of an object decodes the object.
    return [entry.object async for entry in in_turns(ctx, await candidate_entries(ctx, kind, owner))]


async def candidate_entries(ctx: Context[Any], kind: str, owner: Object) -> Sequence[CachedObject[Any]]:
    """Returns the entries of the same objects, which are not decoded."""
    metadata, client = owner["metadata"], ctx.client
    if client.has_uncertain_writes:
        # Asks the server; the read of the cache below waits for the objects in the response.
        await client.list(kind, metadata["namespace"])
    values = metadata["uid"], _orphans(metadata["namespace"])
    return await client.cache.by_index(kind, _INDEX, controller_uid, values, metadata["namespace"])


async def controlled_by(ctx: Context[Any], kind: str, sibling: Object) -> list[Object]:
    """Returns the objects of a kind with the same controller as one of them; none if that one has no controller."""
    reference = controller_of(sibling)
    if reference is None:
        return []
    found = await controlled(ctx.client.cache, kind, reference["uid"], sibling["metadata"]["namespace"])
    return [entry.object for entry in found]


async def controlled(cache: Cache, kind: str, uid: str, namespace: str) -> Sequence[CachedObject[Any]]:
    """Returns the objects of a kind with the controller of a uid."""
    return await cache.by_index(kind, _INDEX, controller_uid, (uid,), namespace)


class Claims:
    """Adopts and releases objects for one owner, within one reconcile. Adopted objects get the finalizer, if any.
    `is_member` restricts the objects that match the selector."""

    def __init__(
        self,
        ctx: Context[Any],
        owner: Object,
        selector: Selector,
        kind: str,
        *,
        finalizer: str = "",
        is_member: Callable[[Object], bool] | None = None,
    ) -> None:
        self._ctx = ctx
        self._finalizer = finalizer
        self._is_member = is_member
        self._owner = owner
        self._selector = selector
        self._kind = kind
        self._is_ending = bool(owner["metadata"].get("deletionTimestamp"))
        # True once the server has confirmed that the owner may adopt.
        self._confirmed = False

    def is_own(self, obj: Object) -> bool:
        """Returns True if the owner controls an object, and its selector matches."""
        reference = controller_of(obj)
        uid = self._owner["metadata"]["uid"]
        return reference is not None and reference["uid"] == uid and self._matches(obj)

    def _matches(self, obj: Object) -> bool:
        is_selected = self._selector.matches(obj["metadata"].get("labels"))
        return is_selected and (self._is_member is None or self._is_member(obj))

    async def claim(self, objects: Sequence[Object]) -> list[Object]:
        """Returns the claimed objects. Raises AdoptionFailed and APIError."""
        claimed = []
        async for obj in in_turns(self._ctx, objects):
            own = await self._claim(obj)
            if own is not None:
                claimed.append(own)
        return claimed

    def is_own_entry(self, entry: CachedObject[Any]) -> bool:
        """Returns True if the owner controls the object of an entry, and its selector matches."""
        return self._decided(entry) is True

    async def claim_entries(self, entries: Sequence[CachedObject[Any]]) -> list[CachedObject[Any]]:
        """Returns the entries of the claimed objects, decoding only those that are adopted or released. An adopted
        object is returned as before its adoption. Raises AdoptionFailed and APIError."""
        claimed = []
        async for entry in in_turns(self._ctx, entries):
            is_claimed = self._decided(entry)
            if is_claimed is None:
                is_claimed = await self._claim(entry.object) is not None
            if is_claimed:
                claimed.append(entry)
        return claimed

    def _decided(self, entry: CachedObject[Any]) -> bool | None:
        """Returns True for an own object, False for one of others, and None for one to adopt or release."""
        meta = entry.meta
        is_selected = self._selector.matches(meta.labels)
        matches = is_selected and (self._is_member is None or self._is_member(entry.object))
        for reference in meta.owner_references or ():
            if reference.controller:
                is_controlled = reference.uid == self._owner["metadata"]["uid"]
                return (True if matches else None) if is_controlled else False
        return None if matches and not meta.deletion_timestamp else False

    async def _claim(self, obj: Object) -> Object | None:
        """Returns the object under control of the owner, or None."""
        reference, owner = controller_of(obj), self._owner["metadata"]
        if reference is not None:
            if reference["uid"] != owner["uid"]:
                return None
            if self._matches(obj):
                return obj
            if not self._is_ending:
                await self._release(obj)
            return None
        if self._is_ending or not self._matches(obj) or obj["metadata"].get("deletionTimestamp"):
            return None
        try:
            return await self._adopt(obj)
        except NotFound:
            return None

    async def _adopt(self, obj: Object) -> Object:
        await self._confirm()
        metadata = {"ownerReferences": [controller_reference(self._owner)], "uid": obj["metadata"]["uid"]}
        if self._finalizer:
            metadata["finalizers"] = [self._finalizer]
        return await self._patch(obj, metadata)

    async def _release(self, obj: Object) -> None:
        metadata = obj["metadata"]
        gone = {"$patch": "delete", "uid": self._owner["metadata"]["uid"]}
        try:
            await self._patch(obj, {"uid": metadata["uid"], "ownerReferences": [gone]})
        except (NotFound, Invalid):
            return  # deleted meanwhile, replaced, or released by another client

    async def _patch(self, obj: Object, metadata: Object) -> Object:
        where, patch = obj["metadata"], strategic({"metadata": metadata})
        patched: Object = await self._ctx.api.patch(self._kind, patch, where["name"], where["namespace"])
        return patched

    async def _confirm(self) -> None:
        """Asks the server for the owner before the first adoption, because the cache may show an owner that is being
        deleted. Raises AdoptionFailed."""
        if self._confirmed:
            return
        owner = self._owner["metadata"]
        kind = GroupVersionKind.of(self._owner)
        fresh = await self._ctx.api.get(KindRef(kind), owner["name"], owner["namespace"])
        metadata = fresh["metadata"]
        if metadata["uid"] != owner["uid"]:
            raise AdoptionFailed(f"{kind.kind} {owner['namespace']}/{owner['name']} was replaced by another object")
        if metadata.get("deletionTimestamp"):
            raise AdoptionFailed(f"{kind.kind} {owner['namespace']}/{owner['name']} is being deleted")
        self._confirmed = True


class ByController:
    """Maps an object to its controller of a kind; an object without a controller to all owners that select the
    object."""

    def __init__(self, cache: Cache, owner: str, selector_of: Callable[[Object], Selector]) -> None:
        self._cache = cache
        self._kind = kind_of(owner)
        self._selector_of = selector_of

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        meta, owner = entry.meta, self._kind.gvk
        for reference in meta.owner_references or ():
            if reference.controller:
                is_ours = reference.kind == owner.kind and reference.api_version.rpartition("/")[0] == owner.group
                return [Request(reference.name, meta.namespace)] if is_ours else []
        if meta.deletion_timestamp:
            return []
        owners = self._cache.informer(self._kind).store.in_namespace(meta.namespace)
        return [
            Request(each.meta.name, meta.namespace)
            for each in owners
            if self._selector_of(each.object).matches(meta.labels)
        ]
