"""What is known of an object when it is asked why it is as it is. `gathering` finds it out, `explain` tells it."""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec

from setpoint.flow.summary.summary import Summary
from setpoint.objects.provenance import Reason
from setpoint.objects.reconcile_report import Reconciled
from setpoint.objects.tree import Object
from setpoint.past.object_ref import Place
from setpoint.past.revision import Revision


class Wait(msgspec.Struct, frozen=True):
    """Something that an object waits for, and what that in turn waits for."""

    kind: str
    name: str
    condition: str
    why: str
    deeper: tuple["Wait", ...] = ()


class Link(msgspec.Struct, frozen=True):
    """A write in a chain of causes, and the writes for which the reconcile ran that made it."""

    write: Revision
    # Each with the reason; reasons that are no writes, or whose writes are not known, have none.
    because: tuple[tuple[Reason, "Link | None"], ...] = ()


class Neighbour(msgspec.Struct, frozen=True):
    """An object that belongs to the one that is asked about; without a tree it is gone."""

    place: Place
    tree: Object | None = None
    summary: Summary | None = None


class Facts(msgspec.Struct, frozen=True):
    """All that is known. What nobody could find out is empty."""

    place: Place
    now: datetime
    # As it is now; None: it is not there.
    tree: Object | None = None
    summary: Summary | None = None
    # Its revisions, oldest first.
    history: tuple[Revision, ...] = ()
    # Why there is no history, where there is none.
    no_past: str = ""
    # The writes that made it what it is, the newest first.
    chain: tuple[Link, ...] = ()
    waits: tuple[Wait, ...] = ()
    # The last lines of its output.
    output: tuple[str, ...] = ()
    # Events about it, oldest first.
    events: tuple[Object, ...] = ()
    owners: tuple[Neighbour, ...] = ()
    owned: tuple[Neighbour, ...] = ()
    # The ports at which services can be reached, by name.
    ports: Mapping[str, int] = {}
    # Why nobody can reach it, however well it runs: somebody else listens at a port of it.
    unreachable: str = ""
    # What its controllers remember of their work at it, the newest first.
    reconciles: tuple[Reconciled, ...] = ()
    # The names of the user who asks.
    me: Collection[str] = ()
