"""What a controller tells of a reconcile: the document, for who answers with it and for who asks.

It goes over HTTP and between processes as JSON; what is empty is left out. Kinds are written `Kind.group`, objects
`namespace/name`.
"""

from typing import Literal, TypeAlias

import msgspec

PATH = "/admin/reconciles"
# So many are told at once, unless fewer are asked for.
MOST = 50

From: TypeAlias = Literal["cache", "server"]


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which reconciles somebody asks for: those of an object or that wrote it, and those with some ids (or the
    beginnings of ids); the newest of them."""

    kind: str = ""
    object: str = ""
    ids: tuple[str, ...] = ()
    limit: int = MOST


class Because(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One reason why it ran."""

    event: str
    kind: str = ""
    object: str = ""
    revision: str = ""
    # Who told of it, where it was no object that changed.
    source: str = ""
    # What an update changed, the first few paths.
    fields: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One look: at an object (without a revision there was none), or at a list."""

    kind: str
    object: str = ""
    revision: str = ""
    source: From = "cache"
    # Of a list: where, with which labels, and how many there were.
    namespace: str = ""
    selector: str = ""
    count: int = 0


class Wrote(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One write."""

    verb: str
    kind: str
    object: str = ""
    subresource: str = ""
    # The revision that it made.
    revision: str = ""
    # It would have changed nothing, and was not sent.
    skipped: bool = False


class Reconciled(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """One reconcile."""

    id: str
    controller: str
    # Of the object that it was for; empty where the controller is for no kind.
    kind: str = ""
    object: str
    # The how manieth of this object it was, since the controller began.
    number: int = 0
    # RFC 3339.
    began: str
    seconds: float
    # How long it was due before it began.
    waited_seconds: float = 0.0
    # success, error, requeue, requeue_after, terminal, timeout, conflict or cancelled.
    result: str
    error: str = ""
    requeue_after_seconds: float | None = None
    attempt: int = 0
    because: tuple[Because, ...] = ()
    # How many more there were, of each.
    more_reasons: int = 0
    reads: tuple[Seen, ...] = ()
    more_reads: int = 0
    writes: tuple[Wrote, ...] = ()


class Reconciles(msgspec.Struct, frozen=True, rename="camel"):
    """What the server answers, the newest first. `controllers` are those that it could ask."""

    items: list[Reconciled]
    controllers: list[str] = []
