"""Where things lie in etcd, all of it below one root:

    ROOT/epoch                     which epoch is current, and where its revisions begin
    ROOT/compact                   what the replicas last agreed to compact to
    ROOT/fence/CLIENT              raised by a client that does not know whether its writes landed
    ROOT/log/EPOCH/head            written by every transaction: its revision is the store's revision
    ROOT/log/EPOCH/s/KEY           the state: one key each
    ROOT/log/EPOCH/d/KEY           who deleted a key last, and why: etcd's own deletions carry nothing
    ROOT/log/EPOCH/x/DEADLINE/KEY  what expires when

A restore writes a whole new epoch beside the current one and then switches to it in one transaction. Every transaction
checks the epoch it was made for, so that no replica reads or writes in one that has passed.
"""

from typing import NamedTuple

FIRST_EPOCH = "0"


def prefix_end(prefix: bytes) -> bytes:
    """The first key, in order, after all those with a (non-empty) prefix; `\\0`, etcd's "no end", if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\0"


class Root(NamedTuple):
    """The root, and what lies right below it."""

    path: str

    @property
    def start(self) -> bytes:
        return f"{self.path}/".encode()

    @property
    def epochs(self) -> bytes:
        return f"{self.path}/log/".encode()

    @property
    def epoch(self) -> bytes:
        return f"{self.path}/epoch".encode()

    @property
    def compact(self) -> bytes:
        return f"{self.path}/compact".encode()

    def fence(self, client: str) -> bytes:
        return f"{self.path}/fence/{client}".encode()


class Epoch:
    """One epoch: its keys, and how its revisions are counted.

    The store's revisions are etcd's, shifted: in a new store the first is 1, and after a restore they go on after those
    of the snapshot, wherever etcd's own stand. They only grow, but others who write to the same etcd leave gaps.
    Within this package revisions are etcd's; `outward` and `inward` translate at its edge.
    """

    def __init__(self, root: Root, name: str, revision: int, shift: int) -> None:
        self.name = name
        self.revision = revision  # etcd's revision that began the epoch; nothing before it can be read
        self.shift = shift
        self.base = root.epochs + f"{name}/".encode()
        self.head = self.base + b"head"
        self.state = self.base + b"s/"
        self.deleted = self.base + b"d/"
        self.expiry = self.base + b"x/"

    def outward(self, etcd_revision: int) -> int:
        return etcd_revision + self.shift

    def inward(self, revision: int) -> int:
        return revision - self.shift

    def of_state(self, key: str) -> bytes:
        return self.state + key.encode()

    def of_deletion(self, key: str) -> bytes:
        return self.deleted + key.encode()

    def of_expiry(self, deadline: float, key: str) -> bytes:
        return self.expires_at(deadline) + key.encode()

    def expires_at(self, deadline: float) -> bytes:
        """The prefix of what expires in the millisecond of a deadline; prefixes sort as their deadlines do."""
        return self.expiry + f"{max(0, int(deadline * 1000)):015d}/".encode()

    def expiring_key(self, expiry: bytes) -> str:
        return expiry[len(self.expiry) + 16 :].decode()

    def key(self, state: bytes) -> str:
        return state[len(self.state) :].decode()
