"""Asks for reconciles: those of an object, or one by its id; the log for what they wrote and why, and the controllers
beside the server for what they remember."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError
from setpoint.objects.reconcile_report import MOST, PATH, Reconciled, Reconciles, Wanted
from setpoint.objects.times import parse_micro_time
from setpoint.objects.tree import Object
from setpoint.past.moment import Moment
from setpoint.past.object_ref import Place
from setpoint.past.queries import NoPast, NotThere, read_log
from setpoint.past.related_objects import Related
from setpoint.past.revision import Revision
from setpoint.past.timeline import timeline
from setpoint.past.trace import Trace, kind_name, traces

# Of objects that do not belong to the one asked about, so many are looked into.
_MOST_OTHERS = 20
_NOTHING = Reconciles([])


async def read_reconciles(client: Client, wanted: Wanted) -> Reconciles:
    """What the controllers beside a server remember; nothing where there is nobody to be asked."""
    query = [("kind", wanted.kind), ("object", wanted.object), *(("id", each) for each in wanted.ids)]
    query.append(("limit", str(wanted.limit)))
    try:
        answer = await client.raw("GET", PATH, query=[(name, value) for name, value in query if value])
        return msgspec.json.decode(answer.body, type=Reconciles)
    except (APIError, TransportError, msgspec.MsgspecError):
        return _NOTHING  # another server, or one who asks may not: what the log tells is told


async def read_traces(
    client: Client,
    place: Place,
    tree: Object | None,
    related: Related,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
) -> list[Trace]:
    """The reconciles of an object, and those that wrote it or what it owns, oldest first, with all that they wrote.
    Raises NoPast."""
    places = [place, *(await related.owned(tree, place) if tree is not None else ())]
    found = await timeline(client, places, since=since, until=until)
    ids = _ids(found)
    told = await read_reconciles(client, Wanted(kind_name(place), place.key, tuple(ids)[-MOST:]))
    known = [each for each in told.items if each.id in ids or _is_between(each, since, until)]
    return await _completed(client, related, found, known, places)


async def read_trace(client: Client, related: Related, id: str) -> Trace:  # noqa: A002 - what it is
    """One reconcile, by its id or the beginning of it. Raises NotThere, ValueError where it may be several, NoPast."""
    told = (await read_reconciles(client, Wanted(ids=(id,)))).items
    # The log may be long: it is read where no controller knows of it.
    log = [] if told else [line for line in await _whole_log(client) if _reconcile_id(line).startswith(id)]
    ids = {each.id for each in told} | {_reconcile_id(line) for line in log}
    if len(ids) > 1:
        raise ValueError(f"several reconciles begin with {id}: {', '.join(sorted(ids))}")
    if not ids:
        raise NotThere(f"no reconcile {id} is known: it wrote nothing, or too long ago")
    wrote = (related.place(each.kind, each.object) for one in told for each in one.writes)
    places = [*_places(related, (line["object"] for line in log)), *(each for each in wrote if each is not None)]
    found = [each for each in await timeline(client, places) if each.cause is not None and each.cause.id in ids]
    same = [each for each in await _completed(client, related, found, told, ()) if each.cause.id in ids]
    # Anybody may claim the id of a reconcile that there was: what is known for certain comes first.
    return min(same, key=lambda each: bool(each.claimed_by))


async def _completed(
    client: Client, related: Related, found: list[Revision], told: Sequence[Reconciled], places: Collection[Place]
) -> list[Trace]:
    """Traces with all that they wrote, and the writes that they ran for, wherever these are."""
    ids = _ids(found) | {each.id for each in told}
    others = await _elsewhere(client, related, found, told, ids)
    more = await timeline(client, [each for each in others if each not in places][:_MOST_OTHERS])
    everything = sorted({(each.place, each.number): each for each in (*found, *more)}.values(), key=_order)
    return [each for each in traces(everything, told) if each.cause.id in ids]


async def _elsewhere(
    client: Client, related: Related, found: Sequence[Revision], told: Sequence[Reconciled], ids: Collection[str]
) -> list[Place]:
    """The other objects that some reconciles wrote, read or ran for: as they tell it, and as the log does from their
    first write on."""
    named = [place for each in told for place in _named(each)]
    causes = {each.cause.id: each.cause for each in found if each.cause is not None and each.cause.id in ids}
    named += [(each.kind, each.object) for cause in causes.values() for each in cause.because]
    places = [place for kind, key in dict.fromkeys(named) if key and (place := related.place(kind, key)) is not None]
    if found:
        try:
            log = await read_log(client, found[0].number - 1)
        except NoPast:
            log = []  # who may not read the log sees what belongs to the object
        places += _places(related, (line["object"] for line in log if _reconcile_id(line) in ids))
    return list(dict.fromkeys(places))


def _named(told: Reconciled) -> list[tuple[str, str]]:
    """The kinds and keys of the objects that a reconcile tells of."""
    return [
        *((each.kind, each.object) for each in told.because),
        *((each.kind, each.object) for each in told.reads),
        *((each.kind, each.object) for each in told.writes),
    ]


async def _whole_log(client: Client) -> list[Object]:
    """The log, as long as it is. Raises NoPast."""
    found: list[Object] = []
    while page := await read_log(client, int(found[-1]["revision"]) if found else 0):
        found += page
    return found


def _places(related: Related, references: Iterable[Object]) -> list[Place]:
    return [place for each in references if (place := related.place_of(each)) is not None]


def _ids(found: Iterable[Revision]) -> set[str]:
    return {each.cause.id for each in found if each.cause is not None and each.cause.controller}


def _reconcile_id(line: Object) -> str:
    """Which reconcile a line of the log is from; empty for a request."""
    cause = line.get("cause") or {}
    found: str = cause.get("id", "") if cause.get("controller") else ""
    return found


def _is_between(told: Reconciled, since: Moment | None, until: Moment | None) -> bool:
    """Whether one that wrote nothing falls between two moments: of revisions nobody can say that."""
    began = parse_micro_time(told.began)
    limits = [each for each in (since, until) if each is not None and not each.is_now]
    if any(each.time is None for each in limits):
        return False
    after = since is None or since.time is None or began >= since.time
    return after and (until is None or until.time is None or began <= until.time)


def _order(revision: Revision) -> tuple[int, str]:
    return revision.number, str(revision.place)
