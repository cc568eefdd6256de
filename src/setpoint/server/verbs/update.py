"""PUT: replaces the stored object."""

from setpoint.objects.errors import Conflict
from setpoint.objects.gvk import GroupKind
from setpoint.objects.meta import fill_namespace
from setpoint.objects.tree import Object, copy
from setpoint.server.codec.request_body import read_object
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import parse_revision
from setpoint.server.request.write_options import write_options
from setpoint.server.verbs.stored_object import upstream_key
from setpoint.server.verbs.write_path import Written, create_object, refuse_name, update_object


async def update(context: Context, resource: Resource) -> Response:
    info = context.info
    options = write_options(context, "UpdateOptions")
    tree = await read_object(context, resource, options.field_validation)
    fill_namespace(tree["metadata"], info.namespace if resource.namespaced else "")
    if resource.is_custom and info.subresource == "status" and tree["kind"] != resource.kind:
        # The status has no kind of its own. kube-apiserver does not track the fields of such an update.
        context.claimed_kind = GroupKind(resource.group, tree["kind"])
        tree["kind"], context.keeps_managers = resource.kind, True
    refuse_name(tree["metadata"].get("name", ""), info.name)

    def replaced(_: Object) -> Object:
        # A copy for every attempt, because later steps change the object.
        made: Object = copy(tree)
        return made

    async def created() -> Written:
        metadata = tree["metadata"]
        if uid := metadata.get("uid"):
            key = resource.storage.key(metadata.get("namespace", ""), info.name)
            where = upstream_key(resource, key, dry_run=options.dry_run)
            raise Conflict.precondition(resource.group_resource, info.name, key=where, wanted=uid, found="")
        parse_revision(metadata.get("resourceVersion", ""))
        if not options.dry_run:
            # kube-apiserver removes the version when it stores the object.
            metadata.pop("resourceVersion", None)
        return await create_object(context, resource, tree, options)

    strategy = resource.strategy
    creates = strategy.allows_create_on_status_update if info.subresource else strategy.allows_create_on_update
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
