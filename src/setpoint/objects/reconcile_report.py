"""The report of a controller about its reconciles: the document of the response, shared by server and client.

The document is sent as JSON, over HTTP and between processes; empty fields are omitted. Kinds are written `Kind.group`,
objects `namespace/name`.
"""

from typing import Literal, TypeAlias

import msgspec

PATH = "/admin/reconciles"
# The default number of reconciles in one response.
MOST = 50

From: TypeAlias = Literal["cache", "server"]


class ReconcileQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """The query for reconciles: those of an object or that wrote the object, and those with the given ids (or prefixes
    of ids), or all of a controller; the newest ones first. With `brief`, triggers, reads and writes are left out, and
    errors are shortened."""

    kind: str = ""
    object: str = ""
    ids: tuple[str, ...] = ()
    limit: int = MOST
    # Only reconciles of this controller.
    controller: str = ""
    brief: bool = False


class Because(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One reason of the reconcile."""

    event: str
    kind: str = ""
    object: str = ""
    revision: str = ""
    # The name of the source, if the reason was not a changed object.
    source: str = ""
    # The first few paths that an update changed.
    fields: tuple[str, ...] = ()


class ObservedRead(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One read: of an object (without a revision if the object did not exist), or of a list."""

    kind: str
    object: str = ""
    revision: str = ""
    source: From = "cache"
    # Of a list: the namespace, the label selector, and the number of items.
    namespace: str = ""
    selector: str = ""
    count: int = 0


class Wrote(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One write."""

    verb: str
    kind: str
    object: str = ""
    subresource: str = ""
    # The revision that the write made.
    revision: str = ""
    # The write would not have changed the object, and was not sent.
    skipped: bool = False


class Reconciled(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    """One reconcile."""

    id: str
    controller: str
    # The kind of the reconciled object; empty for a controller without a kind.
    kind: str = ""
    object: str
    # The number of this reconcile among those of the object since the controller started.
    number: int = 0
    # RFC 3339.
    began: str
    seconds: float
    # The time between the reconcile becoming due and its start.
    waited_seconds: float = 0.0
    # success, error, requeue, requeue_after, terminal, timeout, conflict or cancelled.
    result: str
    error: str = ""
    requeue_after_seconds: float | None = None
    attempt: int = 0
    because: tuple[Because, ...] = ()
    # The numbers of omitted entries, of each kind.
    more_reasons: int = 0
    reads: tuple[ObservedRead, ...] = ()
    more_reads: int = 0
    writes: tuple[Wrote, ...] = ()


class Reconciles(msgspec.Struct, frozen=True, rename="camel"):
    """The response of the server, newest first. `controllers` are those that the server could query."""

    items: list[Reconciled]
    controllers: list[str] = []
