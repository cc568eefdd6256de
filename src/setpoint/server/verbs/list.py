"""GET of a collection: the objects in it, joined from their stored bytes."""

from setpoint.server.answer import list_answer
from setpoint.server.context import Context
from setpoint.server.exchange import Response
from setpoint.server.resource import Resource
from setpoint.server.selection import select


async def list_objects(context: Context, resource: Resource) -> Response:
    selected = await select(context, resource)
    return await list_answer(context, resource, selected)
