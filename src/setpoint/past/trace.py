"""The reconciles of an object, put together again from the log: why each ran, and what it wrote, where.

A reconcile is known by the cause of its writes; one that wrote nothing left nothing, and had nothing to tell. Pure but
for `read_traces`.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

import msgspec

from setpoint.client.client import Client
from setpoint.objects.provenance import Cause, Reason
from setpoint.objects.tree import Object
from setpoint.past.moment import Moment
from setpoint.past.place import Place
from setpoint.past.reading import NoPast, read_log
from setpoint.past.related import Related
from setpoint.past.revision import Revision
from setpoint.past.timeline import timeline

# Of objects that do not belong to the one asked about, so many are looked into.
_MOST_OTHERS = 20


class Trace(msgspec.Struct, frozen=True):
    """One reconcile, as far as the log knows of it."""

    cause: Cause
    writes: tuple[Revision, ...]
    # The writes that it ran for, where they are known.
    because: tuple[tuple[Reason, Revision | None], ...] = ()

    @property
    def time(self) -> datetime:
        return self.writes[0].time

    @property
    def seconds(self) -> float:
        """From its first write to its last."""
        return (self.writes[-1].time - self.writes[0].time).total_seconds()

    def to_json(self) -> Object:
        return {
            "id": self.cause.id,
            "controller": self.cause.controller,
            "key": self.cause.key,
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


def traces(found: Iterable[Revision]) -> list[Trace]:
    """The reconciles that made some revisions, in the order of their first writes."""
    revisions = list(found)
    by_id: dict[str, list[Revision]] = {}
    for revision in revisions:
        if revision.cause is not None and revision.cause.controller:
            by_id.setdefault(revision.cause.id, []).append(revision)
    return [
        Trace(cause, tuple(writes), tuple((reason, written(reason, revisions)) for reason in cause.because))
        for writes in by_id.values()
        if (cause := writes[0].cause) is not None
    ]


def written(reason: Reason, revisions: Iterable[Revision]) -> Revision | None:
    """The write that was the reason for a reconcile, if it is among some."""
    if not reason.revision.isdigit():
        return None
    number = int(reason.revision)
    for revision in revisions:
        if revision.number == number and revision.place.key == reason.object and _is_of(revision.place, reason.kind):
            return revision
    return None


def _is_of(place: Place, kind: str) -> bool:
    gvk = place.gvk
    return kind == (f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind)


async def read_traces(
    client: Client,
    place: Place,
    tree: Object | None,
    related: Related,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
) -> list[Trace]:
    """The reconciles that wrote an object or what it owns, oldest first, with all that they wrote. Raises NoPast."""
    places = [place, *(await related.owned(tree, place) if tree is not None else ())]
    found = await timeline(client, places, since=since, until=until)
    ids = {each.cause.id for each in found if each.cause is not None and each.cause.controller}
    if ids and (others := await _elsewhere(client, related, found[0].number, ids, places)):
        told = await timeline(client, others, since=since, until=until)
        more = [each for each in told if each.cause is not None and each.cause.id in ids]
        found = sorted((*found, *more), key=lambda each: each.number)
    return traces(found)


async def _elsewhere(
    client: Client, related: Related, first: int, ids: Collection[str], places: Collection[Place]
) -> list[Place]:
    """The other objects that some reconciles wrote, as far as the log is read from their first write on."""
    try:
        log = await read_log(client, first - 1)
    except NoPast:
        return []  # who may not read the log sees what belongs to the object
    written = [item["object"] for item in log if (item.get("cause") or {}).get("id") in ids]
    found = dict.fromkeys(place for each in written if (place := related.place_of(each)) is not None)
    return [place for place in found if place not in places][:_MOST_OTHERS]
