"""The keys of the store in etcd, all below one root:

    ROOT/epoch                     which epoch is current, and where its revisions begin
    ROOT/compact                   the revision that the replicas last agreed to compact to
    ROOT/identity                  the keys that the servers share, which are not part of the log
    ROOT/fence/CLIENT              raised by a client that does not know whether its writes landed
    ROOT/log/EPOCH/head            written by every transaction: its revision is the store's revision
    ROOT/log/EPOCH/s/KEY           the state: one key each
    ROOT/log/EPOCH/d/KEY           the actor and the cause of the last deletion of a key
    ROOT/log/EPOCH/x/DEADLINE/KEY  the index of expiry times

A restore writes a whole new epoch beside the current one and then switches to it in one transaction. Every transaction
checks its epoch, so that no replica reads or writes in a replaced epoch.
"""

from typing import NamedTuple

FIRST_EPOCH = "0"


def prefix_end(prefix: bytes) -> bytes:
    """The first key, in order, after all those with a (non-empty) prefix; `\\0`, etcd's "no end", if there is none."""
    trimmed = prefix.rstrip(b"\xff")
    return trimmed[:-1] + bytes([trimmed[-1] + 1]) if trimmed else b"\0"


class Root(NamedTuple):
    """The root, and the keys directly below the root."""

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

    @property
    def identity(self) -> bytes:
        return f"{self.path}/identity".encode()

    def fence(self, client: str) -> bytes:
        return f"{self.path}/fence/{client}".encode()


class Epoch:
    """One epoch: its keys, and the offset of its revisions.

    The store's revisions are etcd's, shifted: in a new store the first is 1, and after a restore they continue after
    those of the snapshot, whatever etcd's own revision is. They only grow, but other clients of the same etcd cause
    gaps. Within this package revisions are etcd's; `outward` and `inward` translate at the API of the store.
    """

    def __init__(self, root: Root, name: str, revision: int, shift: int) -> None:
        self.name = name
        self.revision = revision  # etcd's revision that began the epoch; earlier revisions cannot be read
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
        """Returns the prefix of the keys that expire in the millisecond of a deadline; prefixes sort by deadline."""
        return self.expiry + f"{max(0, int(deadline * 1000)):015d}/".encode()

    def expiring_key(self, expiry: bytes) -> str:
        return expiry[len(self.expiry) + 16 :].decode()

    def key(self, state: bytes) -> str:
        return state[len(self.state) :].decode()
