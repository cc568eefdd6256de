"""Who belongs to whom: the garbage collector's picture of the objects, as plain computing.

The graph knows objects that have owners, that others name as their owner, or whose deletion waits for their
dependents; of all others there is nothing to know. It is told what was seen, in the order of the log, and answers with
work: objects to look at, and owners of which it is not known whether they are there.

An owner is known by its uid; a reference also says under which coordinates it is to be found. Only what somebody found
there counts: a reference with the right uid and the wrong kind, name or namespace leads nowhere. What is gone stays
gone: a uid never comes back.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
# How many owners are remembered that are known to be absent.
REMEMBERED = 10_000


class Coordinates(NamedTuple):
    """Where an object is to be found. The namespace of an owner is that of the object that names it."""

    api_version: str
    kind: str
    namespace: str
    name: str


class Reference(NamedTuple):
    """What an object says of one of its owners."""

    api_version: str
    kind: str
    name: str
    uid: str
    # The owner's deletion in the foreground waits for this object.
    blocks: bool = False

    @classmethod
    def of(cls, tree: dict[str, Any]) -> "Reference":
        return cls(
            tree.get("apiVersion", ""),
            tree.get("kind", ""),
            tree.get("name", ""),
            tree.get("uid", ""),
            bool(tree.get("blockOwnerDeletion")),
        )

    def seen_from(self, namespace: str) -> Coordinates:
        """Where the owner is, if an object of that namespace says so."""
        return Coordinates(self.api_version, self.kind, namespace, self.name)


class Seen(NamedTuple):
    """An object as it was seen."""

    uid: str
    at: Coordinates
    owners: tuple[Reference, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_being_deleted: bool = False
    # The places of the references to owners that whoever saw it found there.
    found: Collection[int] = ()

    @classmethod
    def of(cls, tree: dict[str, Any], found: Collection[int] = ()) -> "Seen":
        """The same of an object, or of its metadata with its apiVersion and kind."""
        meta = tree["metadata"]
        return cls(
            meta.get("uid", ""),
            Coordinates(
                tree.get("apiVersion", ""), tree.get("kind", ""), meta.get("namespace", ""), meta.get("name", "")
            ),
            tuple(Reference.of(each) for each in meta.get("ownerReferences") or ()),
            tuple(meta.get("finalizers") or ()),
            bool(meta.get("deletionTimestamp")),
            found,
        )

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is deleted in the foreground: its dependents go first."""
        return self.is_being_deleted and FOREGROUND in self.finalizers

    @property
    def orphans(self) -> bool:
        """Whether it is deleted, and its dependents are to be set free first."""
        return self.is_being_deleted and ORPHAN in self.finalizers


class Work(NamedTuple):
    """Something to do: look at an object, or find out (`owner_at`) whether an owner is where it is said to be."""

    uid: str
    owner_at: Coordinates | None = None

    @property
    def namespace(self) -> str:
        """By which work takes turns."""
        return self.owner_at.namespace if self.owner_at is not None else ""


class Node:
    """An object, or a uid that is named as an owner."""

    __slots__ = ("_places", "dependents", "found_at", "named", "seen", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        # How it was seen last; None for one that was only heard of.
        self.seen: Seen | None = None
        # Its references by the uid they name: an object may have tens of thousands, and each owner asks for its own.
        self.named: dict[str, list[Reference]] = {}
        # Made when it is first asked for: to see an object with very many references takes long enough.
        self._places: set[tuple[str, Coordinates]] | None = None
        self.dependents: dict[str, Node] = {}
        # Where it was found to be.
        self.found_at: set[Coordinates] = set()

    @property
    def waits_for_dependents(self) -> bool:
        return self.seen is not None and self.seen.waits_for_dependents

    def see(self, seen: Seen | None) -> None:
        """Notes how the object was seen last, or that it is gone."""
        self.seen = seen
        self.named, self._places = {}, None
        for reference in seen.owners if seen is not None else ():
            self.named.setdefault(reference.uid, []).append(reference)

    @property
    def places(self) -> set[tuple[str, Coordinates]]:
        """The uids and places that its references name: thousands of them may name one uid at different places."""
        if self._places is None:
            owners = self.seen.owners if self.seen is not None else ()
            self._places = {(reference.uid, _place(self, reference)) for reference in owners}
        return self._places

    def references(self) -> Iterator[tuple["Node", Reference]]:
        """The dependents, each with what it says of this owner."""
        for dependent in self.dependents.values():
            for reference in dependent.named.get(self.uid, ()):
                yield dependent, reference

    def blocking(self) -> list["Node"]:
        """The dependents that its deletion in the foreground waits for: none waits for itself."""
        found = (dependent for dependent, reference in self.references() if reference.blocks and dependent is not self)
        return list(dict.fromkeys(found))


class Graph:
    """The objects by uid. Every method that is told something returns the work that follows."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        # Uids that were deleted, and places where an owner was looked for in vain; both forget the oldest.
        self._gone: dict[str, None] = {}
        self._absent: dict[tuple[str, Coordinates], None] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def clear(self) -> None:
        """Forgets everything: it will be told again."""
        self._nodes.clear()
        self._gone.clear()
        self._absent.clear()

    def is_absent(self, uid: str, at: Coordinates) -> bool:
        """Whether an owner is known not to be there."""
        return uid in self._gone or (uid, at) in self._absent

    def dependents_at(self, uid: str, at: Coordinates) -> list[Node]:
        """The objects that say this owner is there."""
        node = self._nodes.get(uid)
        if node is None:
            return []
        return [dependent for dependent in node.dependents.values() if (uid, at) in dependent.places]

    def observe(self, seen: Seen) -> list[Work]:
        """An object is there, new or changed."""
        node = self._nodes.get(seen.uid)
        before = node.seen if node is not None else None
        if node is None:
            if not _matters(seen):
                return []
            node = self._nodes[seen.uid] = Node(seen.uid)
        node.see(seen)
        node.found_at.add(seen.at)
        self._gone.pop(seen.uid, None)
        work = self._follow_owners(node, before, seen)
        if seen.orphans and not (before is not None and before.orphans):
            work.append(Work(seen.uid))
        elif seen.waits_for_dependents and not (before is not None and before.waits_for_dependents):
            work += [Work(uid) for uid in node.dependents]
            work.append(Work(seen.uid))
        self._prune(node)
        return list(dict.fromkeys(work))

    def gone(self, uid: str) -> list[Work]:
        """An object was deleted."""
        node = self._nodes.get(uid)
        if node is None:
            return []
        before = node.seen
        node.see(None)
        node.found_at.clear()
        work = [Work(dependent) for dependent in node.dependents]
        if work:
            _remember(self._gone, uid)
        if before is not None:
            work += self._leave(node, before.owners)
        self._prune(node)
        return list(dict.fromkeys(work))

    def found(self, uid: str, at: Coordinates) -> None:
        """An owner was found where it is said to be. Old news of one that has gone since means nothing."""
        node = self._nodes.get(uid)
        if node is not None and uid not in self._gone:
            node.found_at.add(at)

    def missed(self, uid: str, at: Coordinates) -> list[Work]:
        """An owner was looked for where it is said to be, and there is nothing, or something else."""
        _remember(self._absent, (uid, at))
        node = self._nodes.get(uid)
        if node is not None:
            node.found_at.discard(at)
        return [Work(dependent.uid) for dependent in self.dependents_at(uid, at)]

    def _follow_owners(self, node: Node, before: Seen | None, seen: Seen) -> list[Work]:
        """Puts an object below its owners, and takes it away from those it has no more."""
        known = dict.fromkeys(before.owners if before is not None else ())
        found = frozenset(seen.found)
        work: list[Work] = []
        for place, reference in enumerate(seen.owners):
            if reference in known:
                continue
            owner = self._nodes.get(reference.uid)
            if owner is None:
                owner = self._nodes[reference.uid] = Node(reference.uid)
            owner.dependents[node.uid] = node
            at = _place(node, reference)
            if self.is_absent(reference.uid, at) or owner.waits_for_dependents:
                work.append(Work(node.uid))
            elif place in found:
                owner.found_at.add(at)
            elif at not in owner.found_at:
                work.append(Work(reference.uid, at))
        kept, current = node.named.keys(), frozenset(seen.owners)
        changed = [reference for reference in known if reference not in current]
        work += self._leave(node, changed, kept)
        return work

    def _leave(self, node: Node, references: Iterable[Reference], kept: Collection[str] = ()) -> list[Work]:
        """Takes an object away from owners; those that waited for it may go now."""
        work = []
        for reference in references:
            owner = self._nodes.get(reference.uid)
            if owner is None:
                continue
            if reference.uid not in kept:
                owner.dependents.pop(node.uid, None)
            if owner.waits_for_dependents:
                work.append(Work(owner.uid))
            self._prune(owner)
        return work

    def _prune(self, node: Node) -> None:
        """Forgets a node that nothing is to be known about."""
        if not node.dependents and (node.seen is None or not _matters(node.seen)):
            self._nodes.pop(node.uid, None)


def _matters(seen: Seen) -> bool:
    return bool(seen.owners) or seen.orphans or seen.waits_for_dependents


def _place(dependent: Node, reference: Reference) -> Coordinates:
    return reference.seen_from(dependent.seen.at.namespace if dependent.seen is not None else "")


def _remember(memory: dict[Any, None], what: Any) -> None:
    memory[what] = None
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]
