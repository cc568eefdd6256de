"""POST: creates an object."""

from setpoint.objects.meta import fill_namespace
from setpoint.server.codec.request_body import create_options, read_object
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.write_path import create_object


async def create(context: Context, resource: Resource) -> Response:
    options = create_options(context, custom=resource.is_custom)
    tree = await read_object(context, resource, options.field_validation)
    fill_namespace(tree["metadata"], context.info.namespace if resource.namespaced else "")
    written = await create_object(context, resource, tree, options)
    return await object_answer(context, resource, written.body, 201)
