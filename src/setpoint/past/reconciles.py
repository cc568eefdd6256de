"""Reads reconciles: those of an object, or one by its id. The log supplies their writes and triggers, the controllers
of the server supply their recorded details."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError
from setpoint.objects.reconcile_report import MOST, PATH, Reconciled, ReconcileQuery, Reconciles
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.past.moment import Moment
from setpoint.past.object_ref import ObjectReference
from setpoint.past.queries import NoHistory, NotInHistory, read_log
from setpoint.past.related_objects import Related
from setpoint.past.revision import Revision
from setpoint.past.trace import Trace, kind_name, traces

# The maximum number of unrelated objects to read.
_MOST_OTHERS = 20
_NOTHING = Reconciles([])


async def read_reconciles(client: Client, wanted: ReconcileQuery) -> Reconciles:
    """Returns the reconciles that the controllers of a server have recorded; empty if the server does not support the
    request."""
    query = [("kind", wanted.kind), ("object", wanted.object), *(("id", each) for each in wanted.ids)]
    query.append(("limit", str(wanted.limit)))
    try:
        answer = await client.raw("GET", PATH, query=[(name, value) for name, value in query if value])
        return msgspec.json.decode(answer.body, type=Reconciles)
    except (APIError, TransportError, msgspec.MsgspecError):
        return _NOTHING  # another server, or a missing permission: the log is still used


async def read_traces(
    client: Client,
    place: ObjectReference,
    tree: Object | None,
    related: Related,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
) -> list[Trace]:
    """Returns the reconciles of an object, and those that wrote the object or its dependents, oldest first, with all
    their writes. Raises NoHistory."""
    places = [place, *(await related.owned(tree, place) if tree is not None else ())]
    found = await _history_of(client, places, since=since, until=until)
    ids = _ids(found)
    reconciles = await read_reconciles(client, ReconcileQuery(kind_name(place), place.key, tuple(ids)[-MOST:]))
    known = [each for each in reconciles.items if each.id in ids or _is_between(each, since, until)]
    return await _complete_traces(client, related, found, known, places)


async def read_trace(client: Client, related: Related, id: str) -> Trace:  # noqa: A002 - the established name
    """Returns one reconcile, by its id or a prefix of the id. Raises NotInHistory, ValueError if the prefix is
    ambiguous, and NoHistory."""
    reconciles = (await read_reconciles(client, ReconcileQuery(ids=(id,)))).items
    # The log may be long, so it is read only if no controller has the reconcile.
    log = [] if reconciles else [line for line in await _full_log(client) if _reconcile_id(line).startswith(id)]
    ids = {each.id for each in reconciles} | {_reconcile_id(line) for line in log}
    if len(ids) > 1:
        raise ValueError(f"the id {id} is ambiguous: {', '.join(sorted(ids))}")
    if not ids:
        raise NotInHistory(f"reconcile {id} not found: it made no writes, or is no longer retained")
    wrote = (related.place(each.kind, each.object) for one in reconciles for each in one.writes)
    places = [*_places(related, (line["object"] for line in log)), *(each for each in wrote if each is not None)]
    found = [each for each in await _history_of(client, places) if each.cause is not None and each.cause.id in ids]
    same = [each for each in await _complete_traces(client, related, found, reconciles, ()) if each.cause.id in ids]
    # Any client can claim the id of an existing reconcile: verified ones come first.
    return min(same, key=lambda each: bool(each.claimed_by))


async def _complete_traces(
    client: Client,
    related: Related,
    found: list[Revision],
    reconciles: Sequence[Reconciled],
    places: Collection[ObjectReference],
) -> list[Trace]:
    """Returns the traces with all their writes, and with the writes that triggered them, in any object."""
    ids = _ids(found) | {each.id for each in reconciles}
    others = await _other_objects(client, related, found, reconciles, ids)
    more = await _history_of(client, [each for each in others if each not in places][:_MOST_OTHERS])
    everything = sorted({(each.place, each.number): each for each in (*found, *more)}.values(), key=_order)
    return [each for each in traces(everything, reconciles) if each.cause.id in ids]


async def _other_objects(
    client: Client, related: Related, found: Sequence[Revision], reconciles: Sequence[Reconciled], ids: Collection[str]
) -> list[ObjectReference]:
    """Returns the other objects that some reconciles wrote, read or were triggered by, according to the controllers and
    to the log since their first write."""
    named = [place for each in reconciles for place in _named(each)]
    causes = {each.cause.id: each.cause for each in found if each.cause is not None and each.cause.id in ids}
    named += [(each.kind, each.object) for cause in causes.values() for each in cause.because]
    places = [place for kind, key in dict.fromkeys(named) if key and (place := related.place(kind, key)) is not None]
    if found:
        try:
            log = await read_log(client, found[0].number - 1)
        except NoHistory:
            log = []  # without permission for the log, only related objects are shown
        places += _places(related, (line["object"] for line in log if _reconcile_id(line) in ids))
    return list(dict.fromkeys(places))


async def _history_of(
    client: Client, places: Sequence[ObjectReference], since: Moment | None = None, until: Moment | None = None
) -> list[Revision]:
    from setpoint.past.timeline import timeline  # `why` reads no traces

    return await timeline(client, places, since=since, until=until)


def _named(reconcile: Reconciled) -> list[tuple[str, str]]:
    """Returns the kinds and keys of the objects in a recorded reconcile."""
    return [
        *((each.kind, each.object) for each in reconcile.because),
        *((each.kind, each.object) for each in reconcile.reads),
        *((each.kind, each.object) for each in reconcile.writes),
    ]


async def _full_log(client: Client) -> list[Object]:
    """Returns the whole log. Raises NoHistory."""
    found: list[Object] = []
    while page := await read_log(client, int(found[-1]["revision"]) if found else 0):
        found += page
    return found


def _places(related: Related, references: Iterable[Object]) -> list[ObjectReference]:
    return [place for each in references if (place := related.place_of(each)) is not None]


def _ids(found: Iterable[Revision]) -> set[str]:
    return {each.cause.id for each in found if each.cause is not None and each.cause.controller}


def _reconcile_id(line: Object) -> str:
    """Returns the id of the reconcile of a log entry, or an empty string for other requests."""
    cause = line.get("cause") or {}
    found: str = cause.get("id", "") if cause.get("controller") else ""
    return found


def _is_between(reconcile: Reconciled, since: Moment | None, until: Moment | None) -> bool:
    """Returns True if a reconcile without writes falls between two times. Returns False for revisions, which cannot be
    compared."""
    began = parse_micro_time(reconcile.began)
    limits = [each for each in (since, until) if each is not None and not each.is_now]
    if any(each.time is None for each in limits):
        return False
    after = since is None or since.time is None or began >= since.time
    return after and (until is None or until.time is None or began <= until.time)


def _order(revision: Revision) -> tuple[int, str]:
    return revision.number, str(revision.place)
