"""GET of one object: the current state or, with `at=REVISION`, a past one."""

from setpoint.objects.errors import BadRequest, Expired, NotFound
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import at_revision, parse_revision
from setpoint.server.watch import freshness
from setpoint.store.contract import Item, StateReads, TooEarly, TooLate


async def get(context: Context, resource: Resource) -> Response:
    if (
        context.request.query
        and "export" in context.query
        and context.parameter("export").lower() not in ("0", "false")
    ):
        raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
    item = await read(context, resource)
    if resource.fetch is not None:
        body = await resource.converting(lambda: resource.render(item.value, item.revision))
    else:
        body = resource.render(item.value, item.revision)
    return await object_answer(context, resource, body, item=item)


async def read(context: Context, resource: Resource) -> Item:
    """Returns the stored object that a request names, at the requested revision. Raises NotFound, Expired or
    Timeout."""
    info, services = context.info, context.services
    at: int | None = None
    store: StateReads = services.store
    if context.request.query:
        at = at_revision(context)
        if at is None:
            wanted = context.parameter("resourceVersion")
            revision, store = parse_revision(wanted), services.reads(wanted)
            if revision:
                seconds = resource.strategy.retry_after_seconds
                await freshness.wait_for(store, services.clock, revision, retry_after_seconds=seconds)
    try:
        item = await store.get(resource.storage.key(info.namespace, info.name), at)
    except TooLate as late:
        raise Expired(str(late)) from None
    except TooEarly as early:
        raise freshness.too_large(early.revision, early.current) from None
    if item is None:
        raise NotFound.of(resource.group_resource, info.name)
    return item
