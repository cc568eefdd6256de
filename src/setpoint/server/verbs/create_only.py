"""Admission of objects that are posted and never stored (a Binding, an Eviction, a TokenRequest)."""

from setpoint.objects.tree import Object
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions, options_object


async def admitted(context: Context, resource: Resource, name: str, tree: Object, options: WriteOptions) -> Object:
    """Runs admission for a posted object and returns the mutated object. Raises the error of a plugin that rejects the
    object."""
    info, admission = context.info, context.services.admission
    operation = Operation(
        CREATE,
        resource,
        info.namespace,
        name,
        info.subresource,
        tree,
        None,
        options.dry_run,
        options_object(options, "CreateOptions"),
    )
    await admission.mutate(context, operation)
    await admission.validate(context, operation)
    return operation.object or tree
