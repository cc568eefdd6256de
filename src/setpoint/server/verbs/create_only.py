"""Objects that are posted and never stored (a Binding, an Eviction, a TokenRequest): their bodies and admission."""

from functools import cache

from setpoint.objects import owners
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.meta import fill_namespace, wipe_system_fields
from setpoint.objects.tree import Object
from setpoint.schema import builtin
from setpoint.server.codec.request_body import read_object
from setpoint.server.ports import CREATE, Operation
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Strategy
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions, options_object


@cache
def posted_resource(gvk: GroupVersionKind, plural: str, strategy: type[Strategy] = Strategy) -> Resource:
    """Returns the resource that the body of a subresource is decoded and answered as."""
    definition = builtin.kinds()[gvk]
    return Resource(
        group=gvk.group,
        version=gvk.version,
        resource=plural,
        kind=gvk.kind,
        namespaced=True,
        storage=Storage(gvk.group, plural, True, gvk.api_version, gvk.kind),
        make_strategy=strategy,
        definition=definition,
        make_shape=lambda: shape_of(definition),
    )


async def read_posted(
    context: Context, resource: Resource, options: WriteOptions, *, keeps_system_fields: bool = False
) -> Object:
    """Returns the object of the body, in the namespace of the request."""
    tree = await read_object(context, resource, options.field_validation)
    if not keeps_system_fields:
        wipe_system_fields(tree["metadata"])
    if "ownerReferences" in tree["metadata"] and (warning := owners.remove_duplicates(tree["metadata"])):
        context.warn(warning)
    fill_namespace(tree["metadata"], context.info.namespace if resource.namespaced else "")
    return tree


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
