"""The inventory of an apply set: which objects are its own, so that those can be deleted that are no longer wanted.

An object is known by group, kind, namespace and name, whatever version it was written in, and by its UID: another
object that got the same name later is not the same. An entry without UID is an intent: it was written down before the
object was made, so that a crash in between leaves nothing that nobody knows of.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Json, Object


class Identity(NamedTuple):
    """Which object, in whatever version."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, tree: Object) -> "Identity":
        gvk = GroupVersionKind.of(tree)
        return cls(gvk.group, gvk.kind, meta.namespace(tree), meta.name(tree))

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind}.{self.group} {self.key}" if self.group else f"{self.kind} {self.key}"


class Entry(NamedTuple):
    """One object of a set."""

    identity: Identity
    # In which version it was last written.
    version: str
    # Empty: it was to be made, and it is not known whether it was.
    uid: str = ""
    # Since when it is not wanted any more.
    unwanted_since: str = ""

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.identity.group, self.version, self.identity.kind)

    def to_json(self) -> Object:
        found = {
            "group": self.identity.group,
            "version": self.version,
            "kind": self.identity.kind,
            "namespace": self.identity.namespace,
            "name": self.identity.name,
            "uid": self.uid,
            "unwantedSince": self.unwanted_since,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_json(cls, tree: Json) -> "Entry":
        """Raises ValueError for what is no entry."""
        if not isinstance(tree, dict) or not all(isinstance(value, str) for value in tree.values()):
            raise ValueError("an entry of an inventory is an object of texts")
        if not tree.get("kind") or not tree.get("name") or not tree.get("version"):
            raise ValueError("an entry of an inventory needs version, kind and name")
        identity = Identity(tree.get("group", ""), tree["kind"], tree.get("namespace", ""), tree["name"])
        return cls(identity, tree["version"], tree.get("uid", ""), tree.get("unwantedSince", ""))


class Inventory(Mapping[Identity, Entry]):
    """The entries of a set. It does not change; the methods make others."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.identity: entry for entry in entries}

    def __getitem__(self, identity: Identity) -> Entry:
        return self._entries[identity]

    def __iter__(self) -> Iterator[Identity]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inventory) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.values()))

    def with_entries(self, entries: Iterable[Entry]) -> "Inventory":
        """These entries as well, before those that were there for the same objects."""
        found = list(entries)
        return Inventory((*self._entries.values(), *found)) if found else self

    def without(self, identities: Iterable[Identity]) -> "Inventory":
        gone = set(identities)
        if not gone:
            return self
        return Inventory(entry for entry in self._entries.values() if entry.identity not in gone)

    def to_json(self) -> list[Object]:
        return [self._entries[identity].to_json() for identity in sorted(self._entries)]

    @classmethod
    def from_json(cls, entries: Json) -> "Inventory":
        """Raises ValueError for what is no inventory: nothing is guessed about what may be deleted."""
        if not isinstance(entries, list):
            raise ValueError("an inventory is a list of entries")
        return cls(Entry.from_json(entry) for entry in entries)
