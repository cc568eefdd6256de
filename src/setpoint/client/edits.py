"""Verbs that read before they write: an edit that retries on conflicts, and the difference that an apply would make."""

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, Unpack, overload

import msgspec

from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of, ref_of, tree_of
from setpoint.client.options import WriteOptions
from setpoint.client.read_verbs import Reading
from setpoint.client.requests import place_of
from setpoint.client.write_verbs import Writing
from setpoint.merge import jsonpatch
from setpoint.objects.errors import AlreadyExists, ApplyConflict, Conflict, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

if TYPE_CHECKING:
    from setpoint.schema.types.resource import Resource

T = TypeVar("T")
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


class Outcome(NamedTuple, Generic[T]):
    """The result of `create_or_update`: the object as stored, and the effect of the call."""

    object: T
    effect: Literal["created", "updated", "unchanged"]


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
        Conflict. Sends no write if `change` made no difference. Raises TypeError if `change` returns another value."""
        ref = kind_of(kind)
        if ref.metadata_only:
            raise ValueError("cannot edit metadata-only objects: edit the whole object, or use patch")
        tries = EDIT_TRIES
        while True:
            obj = await self._get_editable(ref, name, namespace)
            before = copy.deepcopy(tree_of(obj))
            changed = change(obj)
            if changed is not None and type(changed) is not type(obj):
                raise TypeError(
                    f"the function passed to edit returned a {type(changed).__name__}: change the object in place and "
                    f"return None, or return the whole {ref.gvk.kind}"
                )
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

    @overload
    async def create_or_update(
        self, kind: type[R], name: str, namespace: str, mutate: Callable[[R, bool], None], **how: Unpack[WriteOptions]
    ) -> Outcome[R]: ...
    @overload
    async def create_or_update(
        self,
        kind: GroupVersionKind | str | KindRef,
        name: str,
        namespace: str,
        mutate: Callable[[Object, bool], None],
        **how: Unpack[WriteOptions],
    ) -> Outcome[Object]: ...
    async def create_or_update(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str,
        mutate: Callable[[Any, bool], Any],
        **how: Unpack[WriteOptions],
    ) -> Outcome[Any]:
        """Reads an object, or begins a new one, calls `mutate(obj, is_new)`, and writes the result if `mutate` changed
        the object. On a conflict with another writer, begins again, up to 5 times, then raises Conflict or
        AlreadyExists. Raises TypeError if `mutate` returns a value or changes the name of the object.

        def set_size(config: ConfigMap, is_new: bool) -> None:
            config.data = {"size": "3"}

        found, effect = await client.create_or_update(ConfigMap, "menu", "default", set_size)
        """
        ref = kind_of(kind)
        for tries_left in reversed(range(EDIT_TRIES)):
            try:
                obj, is_new = await self._get_editable(ref, name, namespace), False
            except NotFound:
                obj, is_new = _new(ref, name, namespace), True
            before = copy.deepcopy(tree_of(obj))
            if mutate(obj, is_new) is not None:
                raise TypeError("mutate returned a value: change the object in place and return None")
            tree = tree_of(obj)
            if place_of(tree) != place_of(before):
                raise TypeError(f"mutate changed the name or namespace of {ref.gvk.kind} {name}: leave both as given")
            if not is_new and tree == before:
                return Outcome(obj, "unchanged")
            try:
                if is_new:
                    return Outcome(await self.create(obj, **how), "created")
                return Outcome(await self.update(obj, **how), "updated")
            except (Conflict, AlreadyExists, NotFound):
                if not tries_left:
                    raise
            await self.clock.sleep(EDIT_SECONDS)
        raise AssertionError("the last attempt returns or raises")

    async def _get_editable(self, ref: KindRef, name: str, namespace: str) -> Any:
        """Returns the current version of an object, for a change."""
        return await self.get(ref, name, namespace)

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


def _new(ref: KindRef, name: str, namespace: str) -> Any:
    """Returns an object of a kind that has only a name and a namespace."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    tree: Object = {"apiVersion": ref.gvk.api_version, "kind": ref.gvk.kind, "metadata": metadata}
    if ref.cls is None:
        return tree
    try:
        return ref.cls.from_json(tree)
    except msgspec.ValidationError:
        pass
    try:
        # Required parts of a class have no value yet: `mutate` sets them.
        return ref.cls.from_json({**tree, **{part: {} for part in _required_parts(ref.cls)}})
    except msgspec.ValidationError as error:
        raise TypeError(
            f"cannot begin a new {ref.gvk.kind}: {error}. Give the required fields defaults, or pass the kind as text, "
            f'"{ref}", to work on a tree'
        ) from None


def _required_parts(cls: "type[Resource]") -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(cls) if field.required]


def plain(tree: Object) -> Object:
    """Returns the object without the metadata fields that every write changes."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _BOOKKEEPING}
    return {**tree, "metadata": metadata}
