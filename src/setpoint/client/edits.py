"""Verbs that read before they write: an edit that retries on conflicts, and the difference that an apply would make."""

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

# The number of attempts of an edit, and the delay between two attempts, as in client-go.
EDIT_TRIES = 5
EDIT_SECONDS = 0.01
# Metadata fields that every write changes, or that record the writer. Differences omit these fields.
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


class Difference(NamedTuple):
    """The changes that an apply would make: the object before (None if the object does not exist) and after, and the
    JSON Patch between them."""

    before: Object | None
    after: Object
    patch: list[Object]

    def __bool__(self) -> bool:
        return bool(self.patch)


class Editing(Reading, Writing):
    """Verbs that read before they write."""

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
        """Reads an object, passes the object to `change`, and writes the result: the object as changed in place, or the
        object that `change` returns. On a conflict, reads and changes the object again, up to 5 times, then raises
        Conflict. Sends no write if `change` made no difference."""
        ref = kind_of(kind)
        if ref.metadata_only:
            raise ValueError("cannot edit metadata-only objects: edit the whole object, or use patch")
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
        """Returns the changes that applying the object would make. The server computes them in a dry run, with defaults
        and webhooks."""
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
    """Returns the object without the metadata fields that every write changes."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _BOOKKEEPING}
    return {**tree, "metadata": metadata}
