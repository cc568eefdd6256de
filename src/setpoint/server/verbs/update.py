"""PUT: an object in the place of the stored one."""

from setpoint.objects.meta import fill_namespace
from setpoint.objects.tree import Object, copy
from setpoint.server.answer import object_answer
from setpoint.server.context import Context
from setpoint.server.decode import read_object
from setpoint.server.exchange import Response
from setpoint.server.options import write_options
from setpoint.server.resource import Resource
from setpoint.server.writing import Written, create_object, refuse_name, update_object


async def update(context: Context, resource: Resource) -> Response:
    info = context.info
    options = write_options(context, "UpdateOptions")
    tree = await read_object(context, resource, options.field_validation)
    refuse_name(tree["metadata"].get("name", ""), info.name)
    fill_namespace(tree["metadata"], info.namespace if resource.namespaced else "")

    def replaced(_: Object) -> Object:
        # Anew for every attempt: what becomes of it on the way is not the client's body any more.
        made: Object = copy(tree)
        return made

    async def created() -> Written:
        return await create_object(context, resource, tree, options)

    creates = resource.strategy.allows_create_on_update and not info.subresource
    written = await update_object(
        context,
        resource,
        info.name,
        replaced,
        options,
        subresource=info.subresource,
        create=created if creates else None,
    )
    return await object_answer(context, resource, written.body, 201 if written.created else 200)
