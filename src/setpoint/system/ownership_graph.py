"""The ownership graph of the garbage collector, as pure computation.

The graph contains objects that have owners, that are named as owners, or that wait for their dependents; other objects
are not stored. The graph is updated with the observed objects in the order of the log, and returns work: objects to
examine, and owners to look up.

An object may have tens of thousands of owners, and an owner as many dependents. Operations that take proportional time
are generators, which yield after every few hundred items, so that other tasks can run. The graph shows the earlier
state of the object until the generator ends, so that an abandoned one can be started again.

An owner is identified by its uid; a reference also has the coordinates of the owner. Only an owner that was found there
counts: a reference with the right uid and a wrong kind, name or namespace is dangling. A deleted uid never returns.
"""

from collections.abc import Collection, Generator, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple, TypeVar

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
# The maximum number of absent owners to remember.
REMEMBERED = 10_000
# The number of owners or dependents to process before other tasks can run: a fraction of a millisecond.
STEP = 256

T = TypeVar("T")
Steps = Generator[None, None, T]


class Coordinates(NamedTuple):
    """The coordinates of an object. An owner has the namespace of its dependent."""

    api_version: str
    kind: str
    namespace: str
    name: str


class OwnerReference(NamedTuple):
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    # The owner's foreground deletion waits for this object.
    blocks: bool = False

    @classmethod
    def of(cls, tree: dict[str, Any]) -> "OwnerReference":
        return _shared(
            cls(
                intern(tree.get("apiVersion", "")),
                intern(tree.get("kind", "")),
                tree.get("name", ""),
                tree.get("uid", ""),
                bool(tree.get("blockOwnerDeletion")),
            )
        )

    def seen_from(self, namespace: str) -> Coordinates:
        """Returns the coordinates of the owner of an object in a namespace."""
        return Coordinates(self.api_version, self.kind, namespace, self.name)


@lru_cache(maxsize=512)
def _shared(reference: OwnerReference) -> OwnerReference:
    """Returns one shared instance of equal references, which the dependents of an owner have."""
    return reference


def references_of(trees: Sequence[dict[str, Any]]) -> Steps[list[OwnerReference]]:
    """Parses the owner references of an object."""
    found: list[OwnerReference] = []
    for number, tree in enumerate(trees):
        if number % STEP == STEP - 1:
            yield
        found.append(OwnerReference.of(tree))
    return found


class ObservedObject(NamedTuple):
    """An observed object."""

    uid: str
    at: Coordinates
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_being_deleted: bool = False
    # The indexes of the references to owners that the observer found.
    found: Collection[int] = ()

    @classmethod
    def of(cls, tree: dict[str, Any], found: Collection[int] = ()) -> "Steps[ObservedObject]":
        """Reads an object, or its metadata with its apiVersion and kind."""
        meta = tree["metadata"]
        owners = yield from references_of(meta.get("ownerReferences") or ())
        return cls(
            meta.get("uid", ""),
            Coordinates(
                intern(tree.get("apiVersion", "")),
                intern(tree.get("kind", "")),
                intern(meta.get("namespace", "")),
                meta.get("name", ""),
            ),
            tuple(owners),
            tuple(meta.get("finalizers") or ()),
            bool(meta.get("deletionTimestamp")),
            tuple(found),
        )

    @property
    def waits_for_dependents(self) -> bool:
        """True if the object is deleted in the foreground: its dependents are deleted first."""
        return self.is_being_deleted and FOREGROUND in self.finalizers

    @property
    def orphans(self) -> bool:
        """True if the object is being deleted, and its dependents must be released first."""
        return self.is_being_deleted and ORPHAN in self.finalizers


class Work(NamedTuple):
    """A work item: examine an object, or (with `owner_at`) look up an owner at its coordinates."""

    uid: str
    owner_at: Coordinates | None = None

    @property
    def namespace(self) -> str:
        """The namespace for fair queuing."""
        return self.owner_at.namespace if self.owner_at is not None else ""


class OwnershipNode:
    """An object, or a uid that is named as an owner."""

    __slots__ = ("_places", "dependents", "found_at", "named", "seen", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        # The last observation; None for a uid that is only known from references.
        self.seen: ObservedObject | None = None
        # The references by uid: an object may have tens of thousands, and each owner needs its own.
        self.named: dict[str, list[OwnerReference]] = {}
        # Computed on first use: observing an object with very many references is already slow.
        self._places: set[tuple[str, Coordinates]] | None = None
        self.dependents: dict[str, OwnershipNode] = {}
        # The coordinates at which the object was found.
        self.found_at: set[Coordinates] = set()

    @property
    def waits_for_dependents(self) -> bool:
        return self.seen is not None and self.seen.waits_for_dependents

    def see(self, seen: ObservedObject | None, named: dict[str, list[OwnerReference]]) -> None:
        """Records the last observation with its references by uid, or the deletion of the object."""
        self.seen = seen
        self.named, self._places = named, None

    @property
    def places(self) -> set[tuple[str, Coordinates]]:
        """The uids and coordinates of the references: thousands of them may name one uid at different coordinates."""
        if self._places is None:
            owners = self.seen.owners if self.seen is not None else ()
            namespace = self.seen.at.namespace if self.seen is not None else ""
            self._places = {(reference.uid, reference.seen_from(namespace)) for reference in owners}
        return self._places

    def blocking(self) -> Steps[list["OwnershipNode"]]:
        """Finds the dependents that block the foreground deletion, except the object itself."""
        found: list[OwnershipNode] = []
        for number, dependent in enumerate(list(self.dependents.values())):
            if number % STEP == STEP - 1:
                yield
            references = dependent.named.get(self.uid, ())
            if dependent is not self and any(reference.blocks for reference in references):
                found.append(dependent)
        return found


class OwnershipGraph:
    """The objects by uid. Every update returns the resulting work."""

    def __init__(self) -> None:
        self._nodes: dict[str, OwnershipNode] = {}
        # Deleted uids, and coordinates without the expected owner; the oldest are dropped.
        self._deleted: dict[str, None] = {}
        self._absent: dict[tuple[str, Coordinates], None] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> OwnershipNode | None:
        return self._nodes.get(uid)

    def clear(self) -> None:
        """Removes everything, before all objects are observed again."""
        self._nodes.clear()
        self._deleted.clear()
        self._absent.clear()

    def is_absent(self, uid: str, at: Coordinates) -> bool:
        """Returns True if an owner is known not to exist."""
        return uid in self._deleted or (uid, at) in self._absent

    def dependents_at(self, uid: str, at: Coordinates) -> Steps[list[OwnershipNode]]:
        """Finds the objects that reference this owner at these coordinates."""
        node = self._nodes.get(uid)
        found: list[OwnershipNode] = []
        for number, dependent in enumerate(list(node.dependents.values()) if node is not None else ()):
            if number % STEP == STEP - 1:
                yield
            if (uid, at) in dependent.places:
                found.append(dependent)
        return found

    def observe(self, seen: ObservedObject) -> Steps[list[Work]]:
        """Records a new or changed object."""
        node = self._nodes.get(seen.uid)
        before = node.seen if node is not None else None
        if node is None:
            if not _matters(seen):
                return []
            node = self._nodes[seen.uid] = OwnershipNode(seen.uid)
        work: dict[Work, None] = {}
        named: dict[str, list[OwnerReference]] = {}
        yield from self._follow_owners(node, before, seen, named, work)
        if seen.orphans and not (before is not None and before.orphans):
            work[Work(seen.uid)] = None
        elif seen.waits_for_dependents and not (before is not None and before.waits_for_dependents):
            yield from _add_dependents(node, work)
            work[Work(seen.uid)] = None
        # The node may have been pruned meanwhile, because it had no observation yet.
        self._nodes[seen.uid] = node
        node.see(seen, named)
        node.found_at.add(seen.at)
        self._deleted.pop(seen.uid, None)
        self._prune(node)
        return list(work)

    def record_deletion(self, uid: str) -> Steps[list[Work]]:
        """Records the deletion of an object."""
        node = self._nodes.get(uid)
        if node is None:
            return []
        work: dict[Work, None] = {}
        yield from _add_dependents(node, work)
        if node.seen is not None:
            yield from self._unlink(node, node.seen.owners, work)
        node.see(None, {})
        node.found_at.clear()
        if node.dependents:
            _record(self._deleted, uid)
        self._prune(node)
        return list(work)

    def found(self, uid: str, at: Coordinates) -> None:
        """Records that an owner was found. Ignored if the owner was deleted since."""
        node = self._nodes.get(uid)
        if node is not None and uid not in self._deleted:
            node.found_at.add(at)

    def missed(self, uid: str, at: Coordinates) -> Steps[list[Work]]:
        """Records that an owner was not found at its coordinates."""
        _record(self._absent, (uid, at))
        node = self._nodes.get(uid)
        if node is not None:
            node.found_at.discard(at)
        work: list[Work] = []
        for number, dependent in enumerate((yield from self.dependents_at(uid, at))):
            if number % STEP == STEP - 1:
                yield
            work.append(Work(dependent.uid))
        return work

    def _follow_owners(
        self,
        node: OwnershipNode,
        before: ObservedObject | None,
        seen: ObservedObject,
        named: dict[str, list[OwnerReference]],
        work: dict[Work, None],
    ) -> Steps[None]:
        """Links an object to its owners, and unlinks it from former owners."""
        known = yield from _collected(before.owners if before is not None else ())
        stale = known.copy()
        found = frozenset(seen.found)
        namespace = seen.at.namespace
        for place, reference in enumerate(seen.owners):
            if place % STEP == STEP - 1:
                yield
            named.setdefault(reference.uid, []).append(reference)
            if reference in known:
                stale.pop(reference, None)
                continue
            owner = self._nodes.get(reference.uid)
            if owner is None:
                owner = self._nodes[reference.uid] = OwnershipNode(reference.uid)
            owner.dependents[node.uid] = node
            at = reference.seen_from(namespace)
            if self.is_absent(reference.uid, at) or owner.waits_for_dependents:
                work[Work(node.uid)] = None
            elif place in found:
                owner.found_at.add(at)
            elif at not in owner.found_at:
                work[Work(reference.uid, at)] = None
        yield from self._unlink(node, list(stale), work, named.keys())

    def _unlink(
        self,
        node: OwnershipNode,
        references: Sequence[OwnerReference],
        work: dict[Work, None],
        kept: Collection[str] = (),
    ) -> Steps[None]:
        """Unlinks an object from owners; owners that waited for the object may be deleted now."""
        for number, reference in enumerate(references):
            if number % STEP == STEP - 1:
                yield
            owner = self._nodes.get(reference.uid)
            if owner is None:
                continue
            if reference.uid not in kept:
                owner.dependents.pop(node.uid, None)
            if owner.waits_for_dependents:
                work[Work(owner.uid)] = None
            self._prune(owner)

    def _prune(self, node: OwnershipNode) -> None:
        """Removes a node without relevance."""
        if not node.dependents and (node.seen is None or not _matters(node.seen)):
            self._nodes.pop(node.uid, None)


def _matters(seen: ObservedObject) -> bool:
    return bool(seen.owners) or seen.orphans or seen.waits_for_dependents


def _add_dependents(owner: OwnershipNode, work: dict[Work, None]) -> Steps[None]:
    """Adds all dependents of an owner to the work."""
    for number, uid in enumerate(list(owner.dependents)):
        if number % STEP == STEP - 1:
            yield
        work[Work(uid)] = None


def _collected(references: Sequence[OwnerReference]) -> Steps[dict[OwnerReference, None]]:
    found: dict[OwnerReference, None] = {}
    for start in range(0, len(references), STEP):
        if start:
            yield
        found.update(dict.fromkeys(references[start : start + STEP]))
    return found


def _record(memory: dict[Any, None], what: Any) -> None:
    memory[what] = None
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]
