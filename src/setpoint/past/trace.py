"""Reconstructs the reconciles of an object: triggers and writes from the log; duration, reads and result from the
record of the controller.

The log identifies a reconcile by the cause of its writes; a reconcile without writes is known only to a controller that
still has the record. Has no side effects; `reconciles` reads the data.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from setpoint.objects.provenance import Cause, Reason
from setpoint.objects.reconcile_report import Because, ObservedRead, Reconciled
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import DELETED, Revision


class Trace(msgspec.Struct, frozen=True):
    """One reconcile, as far as known."""

    cause: Cause
    writes: tuple[Revision, ...]
    # The triggers, each with its write, if known.
    because: tuple[tuple[Reason, Revision | None], ...] = ()
    # The controller's record; None if the controller is not available, or the record has expired.
    reconcile: Reconciled | None = None
    # Reads from the cache that were outdated when the reconcile began, each with the newer write.
    behind: tuple[tuple[ObservedRead, Revision], ...] = ()
    # The user who claims the reconcile; empty if the reconcile is verified.
    claimed_by: str = ""

    @property
    def time(self) -> datetime:
        """The start of the reconcile, or the time of its first write if the start is unknown."""
        return parse_micro_time(self.reconcile.began) if self.reconcile is not None else self.writes[0].time

    @property
    def changed(self) -> tuple[str, ...]:
        """The changed fields for each trigger, as seen by the controller."""
        return tuple(", ".join(each.fields) for each in self.reconcile.because) if self.reconcile is not None else ()

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
        if self.reconcile is not None:
            found["remembered"] = msgspec.to_builtins(self.reconcile)
            found["behind"] = [
                {"kind": seen.kind, "object": seen.object, "read": int(seen.revision or 0), "written": newer.number}
                for seen, newer in self.behind
            ]
        return found


def traces(found: Iterable[Revision], reconciles: Iterable[Reconciled] = ()) -> list[Trace]:
    """Returns the reconciles of some revisions, and those that controllers have recorded, in chronological order."""
    revisions = list(found)
    # A claim may use the id of an existing reconcile: the claimant distinguishes the two.
    by_id: dict[tuple[str, str], list[Revision]] = {}
    for revision in revisions:
        if revision.cause is not None and revision.cause.controller:
            by_id.setdefault((revision.cause.id, revision.claimant), []).append(revision)
    remembered = {(each.id, ""): each for each in reconciles}
    seen = _by_object(revisions)
    made = [
        _trace(by_id.get(each, ()), remembered.get(each), seen, each[1])
        for each in dict.fromkeys((*by_id, *remembered))
    ]
    return sorted(made, key=lambda each: each.time)


def _trace(
    writes: Sequence[Revision],
    reconcile: Reconciled | None,
    seen: Mapping[tuple[str, str], Sequence[Revision]],
    claimed_by: str = "",
) -> Trace:
    cause = writes[0].cause if writes else None
    if reconcile is not None:
        # The log has only the first few triggers.
        reasons = tuple(map(_reason, reconcile.because))
        cause = Cause.reconcile(
            reconcile.controller, cause.key if cause is not None else reconcile.object, reconcile.id, reasons
        )
    assert cause is not None
    because = tuple((reason, written(reason, seen.get((reason.kind, reason.object), ()))) for reason in cause.because)
    behind = () if reconcile is None else tuple(_stale_reads(reconcile, seen))
    return Trace(cause, tuple(writes), because, reconcile, behind, claimed_by)


def _reason(because: Because) -> Reason:
    return Reason(because.event, because.kind, because.object or because.source, because.revision)


def _by_object(revisions: Iterable[Revision]) -> dict[tuple[str, str], list[Revision]]:
    found: dict[tuple[str, str], list[Revision]] = {}
    for revision in revisions:
        found.setdefault((kind_name(revision.place), revision.place.key), []).append(revision)
    return found


def _stale_reads(
    reconcile: Reconciled, seen: Mapping[tuple[str, str], Sequence[Revision]]
) -> Iterable[tuple[ObservedRead, Revision]]:
    """Yields the reads from the cache that were older than the writes at that time."""
    began = parse_micro_time(reconcile.began)
    for each in reconcile.reads:
        if each.source == "cache" and each.object:
            number = int(each.revision) if each.revision.isdigit() else 0
            newer = [one for one in seen.get((each.kind, each.object), ()) if one.number > number and one.time < began]
            if newer and (number or newer[-1].type != DELETED):
                yield each, newer[-1]


def written(reason: Reason, revisions: Iterable[Revision]) -> Revision | None:
    """Returns the write that triggered a reconcile, if the write is among some revisions."""
    if not reason.revision.isdigit():
        return None
    number = int(reason.revision)
    for revision in revisions:
        place = revision.place
        if revision.number == number and place.key == reason.object and kind_name(place) == reason.kind:
            return revision
    return None


def kind_name(place: ObjectReference) -> str:
    """Returns the kind of an object in the notation of triggers: `Kind.group`."""
    return str(place.gvk.group_kind)
