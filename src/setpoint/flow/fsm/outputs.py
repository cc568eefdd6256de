"""The outputs of a state: the objects that the state creates, updates or deletes.

A state declares its outputs as data; they are written after the state has returned. The outputs of all states of a walk
form one apply set (`members`): those of a state are written when the state is passed, and outputs that no state of a
completed walk puts out any more are deleted.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from setpoint.client.kinds import AnyObject, Kind, KindRef, kind_of, ref_of, tree_of
from setpoint.flow.desired_object import UserObject
from setpoint.flow.inventory import Identity, InventoryEntry
from setpoint.flow.marks import PRUNE_MARK
from setpoint.flow.policy import AS_THE_SET, How
from setpoint.objects import meta
from setpoint.objects.frozen import thaw
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object
from setpoint.schema.types import ObjectMeta

_LONGEST_NAME = 253
_HASH_CHARACTERS = 8


class StateOutput(NamedTuple):
    """One object that a state wants to exist."""

    source: UserObject
    how: How = AS_THE_SET
    after: tuple[AnyObject, ...] = ()


class Unwanted(NamedTuple):
    """One object that a state wants to be deleted."""

    kind: KindRef
    name: str
    namespace: str


class Outputs:
    """Collects the outputs of a state. The last call for an object counts.

    out.apply(Secret(metadata=out.child("credentials"), string_data={"key": key}))
    out.delete("v1/ConfigMap", "old-settings")
    out.defer_requeue(300)
    """

    def __init__(
        self,
        owner: Object,
        applied: Sequence[Object] = (),
        *,
        kept: Collection[GroupKind] = (),
        delete_children: Callable[[], Awaitable[list[InventoryEntry]]] | None = None,
    ) -> None:
        self._owner = owner
        # The outputs of earlier states of the walk, as stored by the server.
        self.applied = applied
        self._kept = kept
        self._delete_children = delete_children
        self._found: dict[Identity, StateOutput | Unwanted] = {}
        # The seconds until the next reconcile, although the walk continues.
        self.requeue_after: float | None = None

    @property
    def wanted(self) -> list[StateOutput]:
        """The objects to write, in the order of the calls."""
        return [each for each in self._found.values() if isinstance(each, StateOutput)]

    @property
    def unwanted(self) -> list[Unwanted]:
        """The objects to delete."""
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
        """Writes objects, each after those of `after`.

        Objects without a namespace are put into the owner's, and get an owner reference if permitted. With `keep`,
        objects stay when they are no longer put out, and when their owner is deleted. Without `owned`, objects get no
        owner reference; without `force`, a field of another manager is a conflict; `how` sets further policies. Raises
        ValueError for an object without a name: with `generateName`, every walk would create another object.
        """
        needed = tuple(after)
        for obj in objects:
            given = UserObject.of(obj)
            kept = keep or (bool(self._kept) and given.identity.group_kind in self._kept)
            if kept:
                given = UserObject.of(_kept(obj))
            chosen = how
            if kept or not owned:
                chosen = chosen._replace(owner_references=False)
            if not force:
                chosen = chosen._replace(force=False)
            self._put(given.identity, StateOutput(given, chosen, needed))

    def delete(self, target: AnyObject | Kind[Any], name: str = "", namespace: str = "") -> None:
        """Deletes an object, given itself or by kind and name."""
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
        """Deletes all outputs of all walks at once; those that others may need only after these.

        Returns the names of objects that are not deleted yet. Meant for finalizer states; `fsm.delete_children`
        declares a state that waits for the deletion.
        """
        if self._delete_children is None:
            return []
        return [str(entry.identity) for entry in await self._delete_children()]

    def child(self, suffix: str, **more: object) -> ObjectMeta:
        """Returns the metadata of a child in the owner's namespace, with a stable name of limited length.

        ConfigMap(metadata=out.child("settings"), data={"size": "3"})
        """
        return ObjectMeta(
            name=child_name(meta.name(self._owner), suffix),
            namespace=meta.namespace(self._owner),
            **more,  # type: ignore[arg-type]
        )

    def defer_requeue(self, seconds: float) -> None:
        """Continues the walk, and requeues the object after some seconds; the earliest of several times counts."""
        self.requeue_after = seconds if self.requeue_after is None else min(seconds, self.requeue_after)

    def _put(self, identity: Identity, output: StateOutput | Unwanted) -> None:
        if not identity.namespace:
            identity = identity._replace(namespace=meta.namespace(self._owner))
        if identity in self._found:
            del self._found[identity]
        self._found[identity] = output


def _kept(obj: AnyObject) -> Object:
    """Returns a copy of an object with the annotation that prevents pruning."""
    tree: Object = thaw(tree_of(obj))
    metadata = tree["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), PRUNE_MARK: "false"}
    return tree


def child_name(parent: str, suffix: str) -> str:
    """Returns `parent-suffix`; a longer name is cut and gets a hash."""
    name = f"{parent}-{suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    end = sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: _LONGEST_NAME - _HASH_CHARACTERS - 1].rstrip('-.')}-{end}"
