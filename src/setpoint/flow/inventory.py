"""The inventory of an apply set: its objects, so that those that are no longer wanted can be deleted.

An object is identified by group, kind, namespace and name, independent of the version, and by its UID, which
distinguishes a later object of the same name. An entry without a UID is an intent: recorded before the creation, so
that a crash in between leaves no unknown object.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from setpoint.objects import meta
from setpoint.objects.gvk import GroupKind, GroupVersionKind
from setpoint.objects.tree import Json, Object


class Identity(NamedTuple):
    """The identity of an object, independent of the version."""

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
        """`namespace/name`, or the name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind}.{self.group} {self.key}" if self.group else f"{self.kind} {self.key}"


class InventoryEntry(NamedTuple):
    """One object of a set."""

    identity: Identity
    # The version of the last write.
    version: str
    # Empty for an intent: the object may or may not have been created.
    uid: str = ""
    # The time since which the object is not wanted.
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
    def from_json(cls, tree: Json) -> "InventoryEntry":
        """Decodes an entry. Raises ValueError for an invalid one."""
        if not isinstance(tree, dict) or not all(isinstance(value, str) for value in tree.values()):
            raise ValueError("an inventory entry must be an object of strings")
        if not tree.get("kind") or not tree.get("name") or not tree.get("version"):
            raise ValueError("an inventory entry needs version, kind and name")
        identity = Identity(tree.get("group", ""), tree["kind"], tree.get("namespace", ""), tree["name"])
        return cls(identity, tree["version"], tree.get("uid", ""), tree.get("unwantedSince", ""))


class Inventory(Mapping[Identity, InventoryEntry]):
    """The entries of a set. Immutable; the methods return new inventories."""

    def __init__(self, entries: Iterable[InventoryEntry] = ()) -> None:
        self._entries = {entry.identity: entry for entry in entries}

    def __getitem__(self, identity: Identity) -> InventoryEntry:
        return self._entries[identity]

    def __iter__(self) -> Iterator[Identity]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inventory) and self._entries == other._entries

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.values()))

    def with_entries(self, entries: Iterable[InventoryEntry]) -> "Inventory":
        """Returns an inventory with additional entries, which replace those of the same objects."""
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
        """Decodes an inventory. Raises ValueError for an invalid one: a guess might delete the wrong objects."""
        if not isinstance(entries, list):
            raise ValueError("an inventory must be a list of entries")
        return cls(InventoryEntry.from_json(entry) for entry in entries)
