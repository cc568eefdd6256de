"""The reconciles of an object, put together again: from the log why each ran and what it wrote, and from what its
controller remembers how long it took, what it read and how it ended.

A reconcile is known to the log by the cause of its writes; one that wrote nothing is known only to a controller that
still remembers it. Pure; `reconciles` reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from setpoint.objects.provenance import Cause, Reason
from setpoint.objects.reconcile_report import Because, Reconciled, Seen
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.past.object_ref import Place
from setpoint.past.revision import DELETED, Revision


class Trace(msgspec.Struct, frozen=True):
    """One reconcile, as far as it is known."""

    cause: Cause
    writes: tuple[Revision, ...]
    # The writes that it ran for, where they are known.
    because: tuple[tuple[Reason, Revision | None], ...] = ()
    # What its controller remembers; None: it is not there to be asked, or has forgotten.
    told: Reconciled | None = None
    # What it saw in the cache, though something newer had been written when it began.
    behind: tuple[tuple[Seen, Revision], ...] = ()
    # The user who claims that there was such a reconcile; empty where it is a fact.
    claimed_by: str = ""

    @property
    def time(self) -> datetime:
        """When it began, or as far as that is not known, when it wrote first."""
        return parse_micro_time(self.told.began) if self.told is not None else self.writes[0].time

    @property
    def changed(self) -> tuple[str, ...]:
        """For each reason what had changed, as the controller saw it."""
        return tuple(", ".join(each.fields) for each in self.told.because) if self.told is not None else ()

    def to_json(self) -> Object:
        found: Object = {
            "id": self.cause.id,
            "controller": self.cause.controller,
            "key": self.cause.key,
            **({"claimedBy": self.claimed_by} if self.claimed_by else {"verified": True}),
            "time": self.time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "because": [
                {
                    "event": reason.event,
                    **({"kind": reason.kind} if reason.kind else {}),
                    **({"object": reason.object} if reason.object else {}),
                    **({"revision": int(reason.revision)} if reason.revision.isdigit() else {}),
                    **({"write": write.to_json()} if write is not None else {}),
                }
                for reason, write in self.because
            ],
            "writes": [write.to_json() for write in self.writes],
        }
        if self.told is not None:
            found["remembered"] = msgspec.to_builtins(self.told)
            found["behind"] = [
                {"kind": seen.kind, "object": seen.object, "read": int(seen.revision or 0), "written": newer.number}
                for seen, newer in self.behind
            ]
        return found


def traces(found: Iterable[Revision], told: Iterable[Reconciled] = ()) -> list[Trace]:
    """The reconciles that made some revisions, and those that controllers tell of, in the order of their times."""
    revisions = list(found)
    # A claim may name the id of a reconcile that there was: by its user it is told apart.
    by_id: dict[tuple[str, str], list[Revision]] = {}
    for revision in revisions:
        if revision.cause is not None and revision.cause.controller:
            by_id.setdefault((revision.cause.id, revision.claimant), []).append(revision)
    remembered = {(each.id, ""): each for each in told}
    seen = _by_object(revisions)
    made = [
        _trace(by_id.get(each, ()), remembered.get(each), seen, each[1])
        for each in dict.fromkeys((*by_id, *remembered))
    ]
    return sorted(made, key=lambda each: each.time)


def _trace(
    writes: Sequence[Revision],
    told: Reconciled | None,
    seen: Mapping[tuple[str, str], Sequence[Revision]],
    claimed_by: str = "",
) -> Trace:
    cause = writes[0].cause if writes else None
    if told is not None:
        # The log keeps the first few reasons only.
        reasons = tuple(map(_reason, told.because))
        cause = Cause.reconcile(told.controller, cause.key if cause is not None else told.object, told.id, reasons)
    assert cause is not None
    because = tuple((reason, written(reason, seen.get((reason.kind, reason.object), ()))) for reason in cause.because)
    behind = () if told is None else tuple(_behind(told, seen))
    return Trace(cause, tuple(writes), because, told, behind, claimed_by)


def _reason(because: Because) -> Reason:
    return Reason(because.event, because.kind, because.object or because.source, because.revision)


def _by_object(revisions: Iterable[Revision]) -> dict[tuple[str, str], list[Revision]]:
    found: dict[tuple[str, str], list[Revision]] = {}
    for revision in revisions:
        found.setdefault((kind_name(revision.place), revision.place.key), []).append(revision)
    return found


def _behind(told: Reconciled, seen: Mapping[tuple[str, str], Sequence[Revision]]) -> Iterable[tuple[Seen, Revision]]:
    """What was older in the cache than what had been written by then."""
    began = parse_micro_time(told.began)
    for each in told.reads:
        if each.source == "cache" and each.object:
            number = int(each.revision) if each.revision.isdigit() else 0
            newer = [one for one in seen.get((each.kind, each.object), ()) if one.number > number and one.time < began]
            if newer and (number or newer[-1].type != DELETED):
                yield each, newer[-1]


def written(reason: Reason, revisions: Iterable[Revision]) -> Revision | None:
    """The write that was the reason for a reconcile, if it is among some."""
    if not reason.revision.isdigit():
        return None
    number = int(reason.revision)
    for revision in revisions:
        place = revision.place
        if revision.number == number and place.key == reason.object and kind_name(place) == reason.kind:
            return revision
    return None


def kind_name(place: Place) -> str:
    """The kind of an object as reasons have it: `Kind.group`."""
    return str(place.gvk.group_kind)
