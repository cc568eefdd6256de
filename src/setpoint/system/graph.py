"""Who belongs to whom: the garbage collector's picture of the objects, as plain computing.

The graph knows objects that have owners, that others name as their owner, or whose deletion waits for their
dependents; of all others there is nothing to know. It is told what was seen, in the order of the log, and answers with
work: objects to look at, and owners of which it is not known whether they are there.

An object may have tens of thousands of owners, and an owner as many dependents. What takes time in proportion to them
is a generator, which yields after every few hundred: others may run then. The graph shows the object as it was before
until the generator has ended, so that one that is given up can be begun anew.

An owner is known by its uid; a reference also says under which coordinates it is to be found. Only what somebody found
there counts: a reference with the right uid and the wrong kind, name or namespace leads nowhere. What is gone stays
gone: a uid never comes back.
"""

from collections.abc import Collection, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
# How many owners are remembered that are known to be absent.
REMEMBERED = 10_000
# How many owners or dependents are looked at before others may run: some tenths of a millisecond.
STEP = 256

T = TypeVar("T")
Steps = Generator[None, None, T]


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


def references_of(trees: Sequence[dict[str, Any]]) -> Steps[list[Reference]]:
    """Reads the owner references of an object."""
    found: list[Reference] = []
    for number, tree in enumerate(trees):
        if number % STEP == STEP - 1:
            yield
        found.append(Reference.of(tree))
    return found


def finished(steps: Steps[T]) -> T:
    """Takes all steps at once and returns their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


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
        """Returns the same of an object, or of its metadata with its apiVersion and kind."""
        return finished(cls.steps_of(tree, found))

    @classmethod
    def steps_of(cls, tree: dict[str, Any], found: Collection[int] = ()) -> "Steps[Seen]":
        """Does as `of`."""
        meta = tree["metadata"]
        owners = yield from references_of(meta.get("ownerReferences") or ())
        return cls(
            meta.get("uid", ""),
            Coordinates(
                tree.get("apiVersion", ""), tree.get("kind", ""), meta.get("namespace", ""), meta.get("name", "")
            ),
            tuple(owners),
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

    def see(self, seen: Seen | None, named: dict[str, list[Reference]]) -> None:
        """Notes how the object was seen last, with its references by the uids they name, or that it is gone."""
        self.seen = seen
        self.named, self._places = named, None

    @property
    def places(self) -> set[tuple[str, Coordinates]]:
        """The uids and places that its references name: thousands of them may name one uid at different places."""
        if self._places is None:
            owners = self.seen.owners if self.seen is not None else ()
            namespace = self.seen.at.namespace if self.seen is not None else ""
            self._places = {(reference.uid, reference.seen_from(namespace)) for reference in owners}
        return self._places

    def blocking(self) -> Steps[list["Node"]]:
        """Finds the dependents that its deletion in the foreground waits for: none waits for itself."""
        found: list[Node] = []
        for number, dependent in enumerate(list(self.dependents.values())):
            if number % STEP == STEP - 1:
                yield
            references = dependent.named.get(self.uid, ())
            if dependent is not self and any(reference.blocks for reference in references):
                found.append(dependent)
        return found


class Graph:
    """The objects by uid. Every method that is told something returns, or ends with, the work that follows."""

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

    def dependents_at(self, uid: str, at: Coordinates) -> Steps[list[Node]]:
        """Finds the objects that say this owner is there."""
        node = self._nodes.get(uid)
        found: list[Node] = []
        for number, dependent in enumerate(list(node.dependents.values()) if node is not None else ()):
            if number % STEP == STEP - 1:
                yield
            if (uid, at) in dependent.places:
                found.append(dependent)
        return found

    def observe(self, seen: Seen) -> Steps[list[Work]]:
        """Takes note of an object that is there, new or changed."""
        node = self._nodes.get(seen.uid)
        before = node.seen if node is not None else None
        if node is None:
            if not _matters(seen):
                return []
            node = self._nodes[seen.uid] = Node(seen.uid)
        work: dict[Work, None] = {}
        named: dict[str, list[Reference]] = {}
        yield from self._follow_owners(node, before, seen, named, work)
        if seen.orphans and not (before is not None and before.orphans):
            work[Work(seen.uid)] = None
        elif seen.waits_for_dependents and not (before is not None and before.waits_for_dependents):
            yield from _look_at(node, work)
            work[Work(seen.uid)] = None
        # Others may have pruned it meanwhile, for it said nothing yet.
        self._nodes[seen.uid] = node
        node.see(seen, named)
        node.found_at.add(seen.at)
        self._gone.pop(seen.uid, None)
        self._prune(node)
        return list(work)

    def gone(self, uid: str) -> Steps[list[Work]]:
        """Takes note that an object was deleted."""
        node = self._nodes.get(uid)
        if node is None:
            return []
        work: dict[Work, None] = {}
        yield from _look_at(node, work)
        if node.seen is not None:
            yield from self._leave(node, node.seen.owners, work)
        node.see(None, {})
        node.found_at.clear()
        if node.dependents:
            _remember(self._gone, uid)
        self._prune(node)
        return list(work)

    def found(self, uid: str, at: Coordinates) -> None:
        """An owner was found where it is said to be. Old news of one that has gone since means nothing."""
        node = self._nodes.get(uid)
        if node is not None and uid not in self._gone:
            node.found_at.add(at)

    def missed(self, uid: str, at: Coordinates) -> Steps[list[Work]]:
        """Takes note that an owner was looked for where it is said to be, and that something else is there, if any."""
        _remember(self._absent, (uid, at))
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
        node: Node,
        before: Seen | None,
        seen: Seen,
        named: dict[str, list[Reference]],
        work: dict[Work, None],
    ) -> Steps[None]:
        """Puts an object below its owners, and takes it away from those it has no more."""
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
                owner = self._nodes[reference.uid] = Node(reference.uid)
            owner.dependents[node.uid] = node
            at = reference.seen_from(namespace)
            if self.is_absent(reference.uid, at) or owner.waits_for_dependents:
                work[Work(node.uid)] = None
            elif place in found:
                owner.found_at.add(at)
            elif at not in owner.found_at:
                work[Work(reference.uid, at)] = None
        yield from self._leave(node, list(stale), work, named.keys())

    def _leave(
        self, node: Node, references: Sequence[Reference], work: dict[Work, None], kept: Collection[str] = ()
    ) -> Steps[None]:
        """Takes an object away from owners; those that waited for it may go now."""
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

    def _prune(self, node: Node) -> None:
        """Forgets a node that nothing is to be known about."""
        if not node.dependents and (node.seen is None or not _matters(node.seen)):
            self._nodes.pop(node.uid, None)


def _matters(seen: Seen) -> bool:
    return bool(seen.owners) or seen.orphans or seen.waits_for_dependents


def _look_at(owner: Node, work: dict[Work, None]) -> Steps[None]:
    """Adds all dependents of an owner to the work."""
    for number, uid in enumerate(list(owner.dependents)):
        if number % STEP == STEP - 1:
            yield
        work[Work(uid)] = None


def _collected(references: Sequence[Reference]) -> Steps[dict[Reference, None]]:
    found: dict[Reference, None] = {}
    for start in range(0, len(references), STEP):
        if start:
            yield
        found.update(dict.fromkeys(references[start : start + STEP]))
    return found


def _remember(memory: dict[Any, None], what: Any) -> None:
    memory[what] = None
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]
