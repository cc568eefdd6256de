"""Reads history from a server: of one object, and of all objects. Only Setpoint's own servers have history."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from setpoint.client.client import Client
from setpoint.objects.errors import APIError, Forbidden, MethodNotAllowed, NotFound
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object
from setpoint.past.moment import Moment
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import Revision, revisions

_ROOT = "/apis/setpoint.dev/v1"
# The maximum number of pages to read for one object.
MOST_PAGES = 20


class NoHistory(LookupError):  # noqa: N818 - named for the state
    """The server has no history, or not for the requested range."""


class NotInHistory(LookupError):  # noqa: N818 - named for the state
    """The object does not exist, and is not in the retained history."""


async def current_user(client: Client) -> tuple[str, ...]:
    """Returns the user name of the client, or an empty tuple if the server does not report the name."""
    try:
        review: Object = await client.create({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
        return (review["status"]["userInfo"]["username"],)
    except (APIError, LookupError):
        return ()


async def read_history(
    client: Client, place: ObjectReference, *, since: Moment | None = None, until: Moment | None = None
) -> list[Revision]:
    """Returns the revisions of an object between two moments, oldest first; by default its whole history, including
    earlier objects of the same name. Raises NoHistory and NotInHistory."""
    items: list[Object] = []
    query: Mapping[str, str] = {}
    for _ in range(MOST_PAGES):
        page = await _request(client, _path(place), query, place)
        items += page["items"]
        following = page["metadata"].get("continue")
        if not following or (since is not None and _is_before(items[-1], since)):
            break
        query = {"continue": following}
    base = await _base(client, place, items)
    found = revisions(place, items, base)
    return [each for each in found if _is_within(each, since, until)]


async def _base(client: Client, place: ObjectReference, items: list[Object]) -> Object | None:
    """Returns the object before the oldest item, if the items do not begin with a whole object."""
    oldest = items[-1] if items else None
    patch = oldest.get("patch") if oldest is not None else None
    if oldest is None or not oldest.get("previous") or not patch or patch[0]["path"] == "":
        return None
    try:
        return await client.get(place.kind, place.name, place.namespace, at=int(oldest["previous"]))
    except APIError:
        return None


async def read_at(client: Client, place: ObjectReference, moment: Moment) -> Object | None:
    """Returns the object at a moment, unmasked, or None if the object did not exist. Raises NoHistory."""
    at = await revision_at(client, moment)
    try:
        return await client.get(place.kind, place.name, place.namespace, at=at)
    except NotFound:
        return None


async def revision_at(client: Client, moment: Moment) -> int | None:
    """Returns the last revision at a moment, or None for now. Raises NoHistory."""
    if moment.time is None:
        return moment.revision
    metadata = (await _request(client, f"{_ROOT}/revisions", {"time": _text(moment.time)}))["metadata"]
    return int(metadata["at"])


async def read_log(client: Client, after: int, most: int = 500) -> list[Object]:
    """Returns the entries of the log after a revision, for all objects. Raises NoHistory."""
    query = {"after": str(max(after, 0)), "limit": str(most)}
    items: list[Object] = (await _request(client, f"{_ROOT}/revisions", query))["items"]
    return items


async def _request(client: Client, path: str, query: Mapping[str, str], place: ObjectReference | None = None) -> Any:
    try:
        return msgspec.json.decode((await client.raw("GET", path, query=list(query.items()))).body)
    except NotFound as error:
        if error.name and place is not None:
            raise NotInHistory(f"{place} does not exist, and is not in the retained history") from None
        raise NoHistory("the server has no history: only the current state is available") from None
    except MethodNotAllowed:
        raise NoHistory("the server has no history: only the current state is available") from None
    except Forbidden as error:
        raise NoHistory(f"cannot read the history: {error.message}") from None


async def purge(
    client: Client, place: ObjectReference, reason: str, through: str = "", *, cluster_wide: bool = False
) -> Object:
    """Removes the past values of an object permanently, and returns the server's answer. Raises NoHistory, NotInHistory
    and APIErrors."""
    body: Object = {"reason": reason}
    if through:
        body["through"] = through
    if cluster_wide:
        body["confirmClusterWide"] = True
    headers = {"content-type": "application/json"}
    try:
        answer = await client.raw("POST", _path(place, "purge"), headers=headers, body=msgspec.json.encode(body))
    except NotFound as error:
        if error.name:
            raise NotInHistory(f"{place} does not exist, and is not in the retained history") from None
        raise NoHistory("the server has no history to purge") from None
    except MethodNotAllowed:
        raise NoHistory("the server has no history to purge") from None
    result: Object = msgspec.json.decode(answer.body)
    return result


def _path(place: ObjectReference, question: str = "history") -> str:
    if place.group_resource == "namespaces":
        return f"{_ROOT}/namespaces/{quote(place.name, safe='')}/{question}"
    where = f"namespaces/{quote(place.namespace, safe='')}/" if place.namespace else ""
    return f"{_ROOT}/{where}{place.group_resource}/{quote(place.name, safe='')}/{question}"


def _is_before(item: Object, moment: Moment) -> bool:
    if moment.revision is not None:
        return int(item["revision"]) < moment.revision
    return moment.time is not None and item["time"] < _text(moment.time)


def _is_within(revision: Revision, since: Moment | None, until: Moment | None) -> bool:
    after = since is None or since.is_now or not _is_earlier(revision, since)
    before = until is None or until.is_now or _is_earlier(revision, until) or _is_at(revision, until)
    return after and before


def _is_earlier(revision: Revision, moment: Moment) -> bool:
    if moment.revision is not None:
        return revision.number < moment.revision
    return moment.time is not None and revision.time < moment.time


def _is_at(revision: Revision, moment: Moment) -> bool:
    return revision.number == moment.revision or revision.time == moment.time


def _text(moment: datetime) -> str:
    return format_micro_time(moment.astimezone(UTC))
