"""Changes that look first: an edit that begins anew when somebody else was faster, and what an apply would change."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, Unpack, overload

from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of, ref_of, tree_of
from setpoint.client.options import WriteOptions
from setpoint.client.read_verbs import Reading
from setpoint.client.requests import place_of
from setpoint.client.write_verbs import Writing
from setpoint.merge import jsonpatch
from setpoint.objects.errors import ApplyConflict, Conflict, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

# How often an edit is tried, and how long it waits in between, as in client-go.
EDIT_TRIES = 5
EDIT_SECONDS = 0.01
# What changes with every write, or says who wrote it: no difference that anybody asks for.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


class Difference(NamedTuple):
    """What an apply would change: the object as it is (None where it would be new), as it would be, and the JSON Patch
    from one to the other."""

    before: Object | None
    after: Object
    patch: list[Object]

    def __bool__(self) -> bool:
        return bool(self.patch)


class Editing(Reading, Writing):
    """Changes that look first."""

    @overload
    async def edit(
        self,
        kind: type[R],
        name: str,
        namespace: str,
        change: Callable[[R], R | None],
        *,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> R: ...
    @overload
    async def edit(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str,
        change: Callable[[Object], Object | None],
        *,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> Object: ...
    async def edit(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str,
        change: Callable[[Any], Any],
        *,
        subresource: str = "",
        **how: Unpack[WriteOptions],
    ) -> Any:
        """Reads an object, has `change` change it (or return another), and writes it; anew where somebody else wrote
        meanwhile. Where nothing changed, nothing is sent. Raises Conflict when others are always faster."""
        ref = kind_of(kind)
        if ref.metadata_only:
            raise ValueError("metadata alone cannot be written back: edit the whole object, or patch it")
        tries = EDIT_TRIES
        while True:
            obj = await self.get(ref, name, namespace)
            before = copy.deepcopy(tree_of(obj))
            changed = change(obj)
            edited = obj if changed is None else changed
            if tree_of(edited) == before:
                return edited
            try:
                return await self.update(edited, subresource=subresource, **how)
            except ApplyConflict:
                raise
            except Conflict:
                tries -= 1
                if tries <= 0:
                    raise
            await self.clock.sleep(EDIT_SECONDS)

    async def diff(self, obj: Obj, *, force: bool = False, **how: Unpack[WriteOptions]) -> Difference:
        """What applying the object would change, found out by the server itself: defaults, webhooks and all."""
        tree = tree_of(obj)
        ref = KindRef(ref_of(obj).gvk)
        how["dry_run"] = True
        after = plain(await self.apply(tree, force=force, **how))
        try:
            before = plain(await self.get(ref, *place_of(tree)))
        except NotFound:
            return Difference(None, after, [{"op": "add", "path": "", "value": after}])
        return Difference(before, after, jsonpatch.diff(before, after))


def plain(tree: Object) -> Object:
    """An object without what every write changes."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _BOOKKEEPING}
    return {**tree, "metadata": metadata}
