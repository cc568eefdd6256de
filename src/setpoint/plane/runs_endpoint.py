"""The earlier runs of an app, and the current one.

    GET   /apis/setpoint.dev/v1/runs                               the records, newest first
    GET   /apis/setpoint.dev/v1/runs/{number}                      one record
    PATCH /apis/setpoint.dev/v1/runs/{number}                      {"pinned": true, "name": "before the upgrade"}
    GET   /apis/setpoint.dev/v1/runs/{number}/objects              the objects at the end; of the current run, now
    GET   /apis/setpoint.dev/v1/runs/{number}/difference[?to=]     the differences to another run; by default, now

They require the rights to list, get and patch `runs.setpoint.dev`, and to get `runs/objects` and `runs/difference`.
Parts and objects are those of the resources that the user may list in the whole cluster, with the right to their
history. Without these rights to Secrets, values that look like secrets are masked in all other objects; in differences
they are always masked. A server without runs has an empty list.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from setpoint.objects.errors import (
    BadRequest,
    InternalError,
    Invalid,
    NotFound,
    ServiceUnavailable,
    UnsupportedMediaType,
)
from setpoint.objects.gotext import parse_uint
from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Json, Object
from setpoint.past.runs.record import API_VERSION, RunContent, RunObject, RunRecord, record_to_json
from setpoint.past.runs.run_files import Damaged, NoRun, Refused
from setpoint.past.secret_mask import masked, may_hide
from setpoint.server.access.past_access import SUBRESOURCE
from setpoint.server.codec.request_body import media_type
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import OWN_GROUP, RequestInfo
from setpoint.server.verbs.patch import MERGE_PATCH

if TYPE_CHECKING:
    from setpoint.past.runs.run_history import RunHistory

_RUNS = GroupResource(OWN_GROUP, "runs")
_SECRETS = GroupResource("", "secrets")
# The fields that a patch may have besides those of the type.
_CHANGEABLE = ("pinned", "name")
_TYPE = ("kind", "apiVersion")
# The number of a run beyond which no record exists.
_MOST_NUMBER = 10**9


async def answer(runs: "RunHistory | None", context: Context) -> Response:
    """Answers a request for runs. Raises NotFound, BadRequest, Invalid and Forbidden."""
    info = context.info
    if not info.name:
        return await _listed(runs, context)
    number = _number("name", info.name)
    if runs is None:
        raise NotFound.of(_RUNS, info.name)
    try:
        if info.verb == "patch":
            return await _patched(runs, context, number)
        if info.subresource == "objects":
            return await _objects(context, await runs.content(number))
        if info.subresource == "difference":
            return await _difference(runs, context, number)
        listed = await _records(runs, context)
        found = next((each for each in listed if each["number"] == number), None)
        if found is None:
            raise NotFound.of(_RUNS, info.name)
        return await json_answer(context, found)
    except NoRun as error:
        raise NotFound(str(error)) from None
    except Damaged as error:
        raise InternalError.of(str(error)) from None


async def _listed(runs: "RunHistory | None", context: Context) -> Response:
    items: list[Json] = [*(await _records(runs, context) if runs is not None else [])]
    return await json_answer(context, {"kind": "RunList", "apiVersion": API_VERSION, "metadata": {}, "items": items})


async def _records(runs: "RunHistory", context: Context) -> list[Object]:
    sight, records = _Sight(context), await runs.records()
    log = records[0].log if records and not records[0].end else ""
    return [record_to_json(await sight.record(each), log) for each in records]


async def _patched(runs: "RunHistory", context: Context, number: int) -> Response:
    if media_type(context) != MERGE_PATCH:
        raise UnsupportedMediaType.of([MERGE_PATCH])
    if context.parameter("dryRun"):
        raise BadRequest("dryRun is not supported for a run")
    pinned, name = _changes(context)
    try:
        await runs.change(number, pinned=pinned, name=name)
    except Refused as error:
        raise Invalid(str(error)) from None
    except OSError as error:
        raise ServiceUnavailable(f"the run cannot be written: {error.strerror or error}") from None
    changed = next(each for each in await _records(runs, context) if each["number"] == number)
    return await json_answer(context, changed)


def _changes(context: Context) -> tuple[bool | None, str | None]:
    """Returns the fields of a patch. Raises BadRequest and Invalid."""
    try:
        given = msgspec.json.decode(context.request.body or b"", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f'the body is not a merge patch such as {{"pinned": true}}: {error}') from None
    if unknown := sorted(given.keys() - {*_CHANGEABLE, *_TYPE}):
        raise Invalid(f"{unknown[0]}: cannot be changed; a patch of a run may have {' and '.join(_CHANGEABLE)}")
    pinned, name = given.get("pinned"), given.get("name")
    if pinned is None and "pinned" in given:
        pinned = False
    if name is None and "name" in given:
        name = ""
    if pinned is not None and not isinstance(pinned, bool):
        raise Invalid("pinned: must be true or false")
    if name is not None and not isinstance(name, str):
        raise Invalid("name: must be a text")
    return pinned, name


async def _objects(context: Context, run: RunContent) -> Response:
    sight = _Sight(context)
    visible = await sight.objects(run.objects)
    hides = not await sight.sees(_SECRETS)
    items = await _offloaded(context, visible, partial(_trees, visible, hides=hides))
    purged = [_place(each) for each in visible if each.purged]
    metadata = {"number": run.record.number, "revision": str(run.record.last_revision)}
    answered: Object = {"kind": "RunObjectList", "apiVersion": API_VERSION, "metadata": metadata, "items": items}
    return await json_answer(context, {**answered, "purged": purged, "omitted": run.record.omitted})


async def _difference(runs: "RunHistory", context: Context, number: int) -> Response:
    from setpoint.past.runs.comparison import difference_of

    other = context.parameter("to")
    wanted = [await runs.content(each) for each in (number, _number("to", other) if other else None)]
    sight = _Sight(context)
    seen = [RunContent(await sight.record(run.record), await sight.objects(run.objects)) for run in wanted]
    before, after = seen
    objects = (*before.objects, *after.objects)
    return await json_answer(context, await _offloaded(context, objects, partial(difference_of, before, after)))


async def _offloaded(context: Context, objects: Iterable[RunObject], work: Any) -> Any:
    """Returns the result of work on objects, in a thread if they are large."""
    size = sum(memoryview(each.value).nbytes for each in objects)
    return await context.offload(work, size)


def _trees(objects: Iterable[RunObject], *, hides: bool) -> list[msgspec.Raw]:
    """Returns the JSON of objects, with masked secrets if `hides`."""
    return [
        msgspec.Raw(msgspec.json.encode(masked(msgspec.json.decode(each.value))))
        if hides and may_hide(bytes(each.value))
        else each.value
        for each in objects
        if not each.purged
    ]


def _place(found: RunObject) -> Object:
    namespace, _, name = found.key.split("/", 3)[3].rpartition("/")
    return {"resource": str(found.group_resource), "namespace": namespace, "name": name}


def _number(field: str, text: str) -> int:
    try:
        number = parse_uint(text)
    except ValueError:
        number = 0
    if not 0 < number < _MOST_NUMBER:
        raise BadRequest(f"{field}: {text!r} is not the number of a run, such as 3")
    return number


class _Sight:
    """The resources with past objects that a user may see, decided once for each request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[GroupResource, bool] = {}

    async def sees(self, resource: GroupResource) -> bool:
        """Returns True if the user may list the objects of a resource and get their history, in the whole cluster."""
        known = self._known.get(resource)
        if known is None:
            authorizer, user = self._context.services.authorizer, self._context.user
            await authorizer.prepare(user)
            listing = RequestInfo(
                "list", "", is_resource=True, group=resource.group, version="v1", resource=resource.resource
            )
            history = RequestInfo(
                "get",
                "",
                is_resource=True,
                group=OWN_GROUP,
                version="v1",
                resource=str(resource),
                subresource=SUBRESOURCE,
            )
            known = all(authorizer.decide(user, each).allowed for each in (listing, history))
            self._known[resource] = known
        return known

    async def record(self, record: RunRecord) -> RunRecord:
        """Returns a record with the parts that the user may see."""
        parts = tuple([part for part in record.parts if await self.sees(part.group_resource)])
        return msgspec.structs.replace(record, parts=parts)

    async def objects(self, objects: Iterable[RunObject]) -> tuple[RunObject, ...]:
        """Returns the objects that the user may see."""
        return tuple([each for each in objects if await self.sees(each.group_resource)])
