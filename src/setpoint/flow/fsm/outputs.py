"""The outputs of a state: the objects that it wants there to be, or to be gone; and what makes them so.

A state says what it wants, as data; nothing happens before it has answered. An `Applier` then applies it:
`PlainApplier` by server-side apply, one object after the other; an apply set can take its place, and prune.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, cast

from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.controller.context import Context
from setpoint.objects import meta, owners
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta, Resource

_LONGEST_NAME = 253
_HASH_CHARACTERS = 8


class Output(NamedTuple):
    """One object that a state wants to be so; or to be gone."""

    kind: KindRef
    object: Object
    # It belongs to the object that is reconciled, and goes with it; never where that would not be legal.
    owned: bool = True
    # Fields that others manage are taken over.
    force: bool = True
    gone: bool = False

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is, whatever its version."""
        gvk = self.kind.gvk
        return gvk.group, gvk.kind, meta.namespace(self.object), meta.name(self.object)


class Applied(NamedTuple):
    """What came of outputs: the objects as the server has them now. What went, and what was not made because its owner
    is being deleted, is not among them."""

    objects: Sequence[Object] = ()


class Applier(Protocol):
    """Makes outputs so, for one reconcile."""

    async def apply(self, owner: Object, outputs: Sequence[Output], manager: str) -> Applied:
        """Applies the outputs of one state. While the owner is being deleted, nothing new is made."""
        ...

    async def complete(self, owner: Object, outputs: Sequence[Output], manager: str) -> None:
        """A walk was complete, and these were all its outputs: what was applied before and is not among them may go."""
        ...


class Outputs:
    """Takes what a state puts out. The last word about an object counts."""

    def __init__(self, owner: Object, applied: Sequence[Object] = ()) -> None:
        self._owner = owner
        # What earlier states of the walk have put out, as the server has it.
        self.applied = applied
        self._found: dict[tuple[str, str, str, str], Output] = {}
        # What the state reports although it goes on: a reason and a message.
        self.noted: tuple[str, str] | None = None
        # When the object is to be looked at again, although the walk goes on.
        self.requeue_after: float | None = None

    @property
    def found(self) -> list[Output]:
        """All of them, in the order in which they were put out."""
        return list(self._found.values())

    def apply(self, *objects: AnyObject, owned: bool = True, force: bool = True) -> None:
        """Wants objects to be so. They are in the namespace of the owner where they name none. Raises ValueError for
        one without a name: with `generateName`, every walk would make another one."""
        for obj in objects:
            placed = self._placed(obj)
            self._put(Output(ref_of(obj), placed, owned and self._can_own(placed), force))

    def delete(self, target: AnyObject | Kind[Any], name: str = "", namespace: str = "") -> None:
        """Wants an object to be gone: itself, or by its kind and name."""
        if name:
            kind = kind_of(target)  # type: ignore[arg-type]
            tree: Object = {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}
        else:
            kind, tree = ref_of(target), target  # type: ignore[arg-type, assignment]
        self._put(Output(kind, self._placed(tree), gone=True))

    def child(self, suffix: str, **more: object) -> ObjectMeta:
        """The metadata of a child: in the namespace of the owner, with a name that is always the same and never too
        long."""
        return ObjectMeta(
            name=child_name(meta.name(self._owner), suffix),
            namespace=meta.namespace(self._owner),
            **more,  # type: ignore[arg-type]
        )

    def note(self, reason: str, message: str = "") -> None:
        """Goes on, but says that this state is not as it should be: its condition, and Ready, are False."""
        self.noted = reason, message

    def requeue(self, seconds: float) -> None:
        """Goes on, and has the object looked at again after so many seconds; the earliest counts."""
        self.requeue_after = seconds if self.requeue_after is None else min(seconds, self.requeue_after)

    def _can_own(self, tree: Object) -> bool:
        """Whether an owner reference is legal: an owner lives in the namespace of what it owns, or in none."""
        return meta.namespace(self._owner) in ("", meta.namespace(tree))

    def _put(self, output: Output) -> None:
        self._found.pop(output.key, None)
        self._found[output.key] = output

    def _placed(self, obj: AnyObject) -> Object:
        tree = cast(Object, thaw(tree_of(obj)))
        if not meta.name(tree):
            raise ValueError("an output needs a name: out.child(suffix) makes one that is the same each time")
        namespace = meta.namespace(self._owner)
        if namespace and not meta.namespace(tree) and not _is_cluster_wide(obj):
            tree["metadata"]["namespace"] = namespace
        return tree


def _is_cluster_wide(obj: AnyObject) -> bool:
    """Whether an object is known to live in no namespace. Of a tree that is not known."""
    return isinstance(obj, Resource) and type(obj).__resource__.scope == "Cluster"


def child_name(parent: str, suffix: str) -> str:
    """`parent-suffix`; where that is too long, cut and told apart by a hash."""
    name = f"{parent}-{suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    end = sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - _HASH_CHARACTERS - 1].rstrip('-.')}-{end}"


class PlainApplier:
    """Applies each output by itself, and prunes nothing: what a walk no longer puts out stays until its owner goes."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def apply(self, owner: Object, outputs: Sequence[Output], manager: str) -> Applied:
        found = []
        for output in outputs:
            if output.gone:
                await self._delete(output)
            elif (made := await self._apply(owner, output, manager)) is not None:
                found.append(made)
        return Applied(found)

    async def complete(self, owner: Object, outputs: Sequence[Output], manager: str) -> None:
        return

    async def _apply(self, owner: Object, output: Output, manager: str) -> Object | None:
        client, wanted = self._ctx.client, output.object
        going = meta.is_being_deleted(owner)
        is_there = True
        if going or not output.owned:
            # Looking also has a change of it bring the owner back, which an owner reference does for the others.
            is_there = await self._find(output) is not None
        if going and not is_there:
            return None
        if output.owned and not going:
            owners.set_controller(owner, wanted)  # it is a copy, of which nobody else knows
        return await client.apply(wanted, force=output.force, field_manager=manager)

    async def _delete(self, output: Output) -> None:
        if await self._find(output) is None:
            return
        try:
            await self._ctx.client.delete(output.kind, meta.name(output.object), meta.namespace(output.object))
        except NotFound:
            return

    async def _find(self, output: Output) -> object:
        found: object = await self._ctx.client.find(
            output.kind, meta.name(output.object), meta.namespace(output.object)
        )
        return found
