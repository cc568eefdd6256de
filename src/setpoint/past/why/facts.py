"""The facts about an object for an explanation. `fact_collector` collects them, `explain` describes them."""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec

from setpoint.flow.summary.summary import Summary
from setpoint.objects.provenance import Reason
from setpoint.objects.reconcile_report import Reconciled
from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import Revision


class Wait(msgspec.Struct, frozen=True):
    """A dependency that an object waits for, and the dependencies of that one."""

    kind: str
    name: str
    condition: str
    why: str
    deeper: tuple["Wait", ...] = ()


class Link(msgspec.Struct, frozen=True):
    """A write in a chain of causes, and the writes that triggered its reconcile."""

    write: Revision
    # Each trigger with its write; None if the trigger was not a write, or the write is unknown.
    because: tuple[tuple[Reason, "Link | None"], ...] = ()


class RelatedObject(msgspec.Struct, frozen=True):
    """A related object; without a tree the object is deleted."""

    place: ObjectReference
    tree: Object | None = None
    summary: Summary | None = None


class Facts(msgspec.Struct, frozen=True):
    """All known facts. Unknown ones are empty."""

    place: ObjectReference
    now: datetime
    # The current object; None if the object does not exist.
    tree: Object | None = None
    summary: Summary | None = None
    # The revisions, oldest first.
    history: tuple[Revision, ...] = ()
    # The reason for a missing history.
    no_history: str = ""
    # The writes that led to the current state, the newest first.
    chain: tuple[Link, ...] = ()
    waits: tuple[Wait, ...] = ()
    # The last lines of output.
    output: tuple[str, ...] = ()
    # The events of the object, oldest first.
    events: tuple[Object, ...] = ()
    owners: tuple[RelatedObject, ...] = ()
    owned: tuple[RelatedObject, ...] = ()
    # The ports of services, by name.
    ports: Mapping[str, int] = {}
    # The reason for which a running object cannot be reached: another process listens at one of its ports.
    unreachable: str = ""
    # The recorded reconciles of the controllers, the newest first.
    reconciles: tuple[Reconciled, ...] = ()
    # The names of the current user.
    me: Collection[str] = ()
