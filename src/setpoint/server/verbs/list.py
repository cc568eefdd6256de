"""GET of a collection: the objects in it, joined from their stored bytes."""

from setpoint.server.codec.response import list_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.selection import select


async def list_objects(context: Context, resource: Resource) -> Response:
    selected = await select(context, resource)
    return await list_answer(context, resource, selected)
