"""The outputs of a state: the objects that it wants there to be, or to be gone.

A state says what it wants, as data; nothing happens before it has answered. The outputs of all states of a walk are one
apply set (`members`): each state's are written when it is passed, and what no state of a completed walk puts out any
more is deleted.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.flow.desired_object import Given
from setpoint.flow.inventory import Entry, Identity
from setpoint.flow.marks import PRUNE_MARK
from setpoint.flow.policy import AS_THE_SET, How
from setpoint.objects import meta
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta

_LONGEST_NAME = 253
_HASH_CHARACTERS = 8


class Output(NamedTuple):
    """One object that a state wants to be so."""

    given: Given
    how: How = AS_THE_SET
    after: tuple[AnyObject, ...] = ()


class Unwanted(NamedTuple):
    """One object that a state wants to be gone."""

    kind: KindRef
    name: str
    namespace: str


class Outputs:
    """Takes what a state puts out. The last word about an object counts."""

    def __init__(
        self,
        owner: Object,
        applied: Sequence[Object] = (),
        *,
        kept: Collection[GroupKind] = (),
        delete_children: Callable[[], Awaitable[list[Entry]]] | None = None,
    ) -> None:
        self._owner = owner
        # What earlier states of the walk have put out, as the server has it.
        self.applied = applied
        self._kept = kept
        self._delete_children = delete_children
        self._found: dict[Identity, Output | Unwanted] = {}
        # When the object is to be looked at again, although the walk goes on.
        self.requeue_after: float | None = None

    @property
    def wanted(self) -> list[Output]:
        """What is to be so, in the order in which it was put out."""
        return [each for each in self._found.values() if isinstance(each, Output)]

    @property
    def unwanted(self) -> list[Unwanted]:
        """What is to be gone."""
        return [each for each in self._found.values() if isinstance(each, Unwanted)]

    def apply(
        self,
        *objects: AnyObject,
        owned: bool = True,
        force: bool = True,
        keep: bool = False,
        how: How = AS_THE_SET,
        after: Iterable[AnyObject] = (),
    ) -> None:
        """Wants objects to be so, each written after those of `after`. They are in the namespace of the owner where
        they name none, and belong to it where that is legal.

        With `keep`, they stay when they are not put out any more, and when their owner goes. Not `owned`, they have no
        reference to the owner; not forced, a field that another manages is a conflict; `how` says more. Raises
        ValueError for an object without a name: with `generateName`, every walk would make another one.
        """
        needed = tuple(after)
        for obj in objects:
            given = Given.of(obj)
            kept = keep or (bool(self._kept) and given.identity.group_kind in self._kept)
            if kept:
                given = Given.of(_kept(obj))
            chosen = how
            if kept or not owned:
                chosen = chosen._replace(owner_references=False)
            if not force:
                chosen = chosen._replace(force=False)
            self._put(given.identity, Output(given, chosen, needed))

    def delete(self, target: AnyObject | Kind[Any], name: str = "", namespace: str = "") -> None:
        """Wants an object to be gone: itself, or by its kind and name."""
        if name:
            kind = kind_of(target)  # type: ignore[arg-type]
        else:
            tree = tree_of(target)  # type: ignore[arg-type]
            kind, name, namespace = ref_of(tree), meta.name(tree), meta.namespace(tree)
        if not namespace and not (kind.cls is not None and kind.cls.__resource__.scope == "Cluster"):
            namespace = meta.namespace(self._owner)
        gvk = kind.gvk
        self._put(Identity(gvk.group, gvk.kind, namespace, name), Unwanted(kind, name, namespace))

    async def delete_children(self) -> list[str]:
        """Deletes everything that walks have put out so far, at once: what others may need only when those are gone.
        The names of what is not gone yet. For states that clean up; `fsm.delete_children` is one that waits for it."""
        if self._delete_children is None:
            return []
        return [str(entry.identity) for entry in await self._delete_children()]

    def child(self, suffix: str, **more: object) -> ObjectMeta:
        """The metadata of a child: in the namespace of the owner, with a name that is always the same and never too
        long."""
        return ObjectMeta(
            name=child_name(meta.name(self._owner), suffix),
            namespace=meta.namespace(self._owner),
            **more,  # type: ignore[arg-type]
        )

    def defer_requeue(self, seconds: float) -> None:
        """Goes on, and has the object looked at again after so many seconds; the earliest counts."""
        self.requeue_after = seconds if self.requeue_after is None else min(seconds, self.requeue_after)

    def _put(self, identity: Identity, output: Output | Unwanted) -> None:
        if not identity.namespace:
            identity = identity._replace(namespace=meta.namespace(self._owner))
        if identity in self._found:
            del self._found[identity]
        self._found[identity] = output


def _kept(obj: AnyObject) -> Object:
    """A copy of an object that says that it must not be pruned."""
    tree: Object = thaw(tree_of(obj))
    metadata = tree["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), PRUNE_MARK: "false"}
    return tree


def child_name(parent: str, suffix: str) -> str:
    """`parent-suffix`; where that is too long, cut and told apart by a hash."""
    name = f"{parent}-{suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    end = sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - _HASH_CHARACTERS - 1].rstrip('-.')}-{end}"
