"""The scale subresource: the number of replicas of an object, in the form that all autoscalers use.

A Scale is never stored. A Scale is computed from its object and changed like an object; then the new number of
replicas, and the ownership of that field, are written to the object.
"""

from collections.abc import Callable
from functools import cache, partial

import msgspec

from setpoint.merge.fieldmanager import FieldManager
from setpoint.merge.scale_ownership import SCALE_VERSION, ScaleEntries, replicas_path
from setpoint.objects import labels, meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest, Conflict, Invalid
from setpoint.objects.field import invalid, required
from setpoint.objects.gvk import GroupKind
from setpoint.objects.tree import Object, copy
from setpoint.schema.crd.definition import Scale
from setpoint.schema.crd.scale_subresource import read_scale, with_replicas
from setpoint.server.codec.request_body import read_object
from setpoint.server.codec.response import object_answer
from setpoint.server.message import Response
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.registry.kinds.printers.columns import AGE, NAME, number
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.storage import Storage
from setpoint.server.registry.strategy import Column, Strategy
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import WriteOptions, write_options
from setpoint.server.verbs.get import read
from setpoint.server.verbs.patch import (
    APPLY,
    complete,
    patch_type,
    patched_object,
    read_configuration,
    read_patch,
    report_duplicates,
)
from setpoint.server.verbs.write_path import PATCH_ATTEMPTS, Lens, Written, refuse_name, update_object

_GROUP, _VERSION = SCALE_VERSION.split("/")
_DEFINITION = "io.k8s.api.autoscaling.v1.Scale"
_REPLICAS = Scale(spec_replicas_path=".spec.replicas", status_replicas_path=".status.replicas")

# Returns the wanted Scale, with its managedFields, given the Scale of the stored object.
Change = Callable[[Object], Object]


class ScaleStrategy(Strategy):
    """The columns of a Scale, which has no other rules."""

    columns = (
        NAME._replace(format=""),
        Column(
            "Desired",
            number("spec", "replicas"),
            "integer",
        ),
        Column(
            "Available",
            number("status", "replicas"),
            "integer",
        ),
        AGE,
    )


# The number of replicas of a custom resource without this field, which a patch of its Scale shows.
_UNSET = -(2**31)


@cache
def _scales() -> Resource:
    """Returns the resource that a Scale body is decoded and answered as."""
    return Resource(
        group=_GROUP,
        version=_VERSION,
        resource="scales",
        kind="Scale",
        namespaced=True,
        storage=Storage(_GROUP, "scales", True, SCALE_VERSION, "Scale"),
        make_strategy=ScaleStrategy,
        definition=_DEFINITION,
        make_shape=lambda: shape_of(_DEFINITION),
    )


async def get_scale(context: Context, resource: Resource) -> Response:
    item = await read(context, resource)
    tree = await context.decoded(resource, item)
    where = _where(resource)
    if resource.is_custom and read_scale(tree, where).wanted is None:
        why = f'the spec replicas field "{where.spec_replicas_path}" does not exist'
        field = where.spec_replicas_path.removeprefix(".")
        raise Invalid.of(resource.stored_kind, meta.name(tree), [required(field, why)])
    return await _answer(context, scale_of(resource, tree))


async def update_scale(context: Context, resource: Resource) -> Response:
    options = write_options(context, "UpdateOptions")
    body = await read_object(context, _scales(), options.field_validation)
    refuse_name(body["metadata"].get("name", ""), context.info.name)
    meta.fill_namespace(body["metadata"], context.info.namespace if resource.namespaced else "")
    manager = _field_manager(context.services.clock)

    def replaced(scale: Object) -> Object:
        return manager.update(scale, copy(body), options.field_manager)

    written = await _write(context, resource, replaced, options)
    return await _answer(context, scale_of(resource, written.tree))


async def patch_scale(context: Context, resource: Resource) -> Response:
    given = patch_type(context, resource)
    options = write_options(context, "PatchOptions", apply=given == APPLY)
    manager = _field_manager(context.services.clock)
    if given == APPLY:
        config, repeated = await read_configuration(context, resource, options)

        def changed(scale: Object) -> Object:
            tree = manager.apply(scale, config, options.field_manager, force=options.force)
            report_duplicates(context, repeated, options)
            complete(_scales(), tree, context.services.clock)
            return tree

    else:
        change = await read_patch(context, _scales(), given, options)

        def changed(scale: Object) -> Object:
            tree = patched_object(context, _scales(), change, options, copy(scale))
            return manager.update(scale, tree, options.field_manager)

    written = await _write(context, resource, changed, options)
    return await _answer(context, scale_of(resource, written.tree))


async def _answer(context: Context, scale: Object) -> Response:
    return await object_answer(context, _scales(), msgspec.json.encode(scale))


async def _write(context: Context, resource: Resource, change: Change, options: WriteOptions) -> Written:
    """Updates an object through its Scale."""
    name = context.info.name

    def put(tree: Object, scale: Object) -> Object:
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        where = _where(resource)
        if replicas == _UNSET and resource.is_custom:
            raise BadRequest(f'the spec replicas field "{where.spec_replicas_path}" cannot be empty')
        if replicas < 0 and not resource.is_custom:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise Invalid.of(GroupKind(_GROUP, "Scale"), name, [error])
        return with_replicas(tree, where, replicas)

    def scaled(live: Object) -> Object:
        entries = ScaleEntries(live["metadata"].get("managedFields"), resource.api_version, _paths(resource))
        before = scale_of(resource, live, unset=_UNSET if resource.is_custom else 0)
        meta.put(before["metadata"], "managedFields", entries.to_scale())
        after = change(before)
        metadata = after["metadata"]
        if metadata.get("name") != name:
            raise BadRequest(
                f"the name of the object ({metadata.get('name', '')}) does not match the name on the URL ({name})"
            )
        _check_uid(resource, name, metadata.get("uid"), live)
        new = put(live, after)
        meta.put(new["metadata"], "managedFields", entries.to_parent(metadata.get("managedFields")))
        if wanted := metadata.get("resourceVersion"):
            new["metadata"]["resourceVersion"] = wanted
        return new

    return await update_object(
        context,
        resource,
        name,
        scaled,
        options,
        subresource="scale",
        managed=True,
        attempts=PATCH_ATTEMPTS,
        lens=Lens(partial(scale_of, resource), put),
    )


def _check_uid(resource: Resource, name: str, wanted: str | None, live: Object) -> None:
    found = meta.uid(live)
    if wanted and wanted != found:
        why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        raise Conflict.of(resource.group_resource, name, why)


def scale_of(resource: Resource, tree: Object, *, unset: int = 0) -> Object:
    """Returns the Scale of an object, with this number of replicas if the object has none."""
    found = read_scale(tree, _where(resource))
    wanted = unset if found.wanted is None else found.wanted
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    metadata = {field: tree["metadata"][field] for field in shown if field in tree["metadata"]}
    status: Object = {"replicas": found.actual}
    if selector := found.selector if resource.is_custom else _selector(tree):
        status["selector"] = selector
    spec: Object = {"replicas": wanted} if wanted else {}
    return {"kind": "Scale", "apiVersion": SCALE_VERSION, "metadata": metadata, "spec": spec, "status": status}


def _selector(tree: Object) -> str:
    """Returns the selector of a built-in object as text. That of a ReplicationController is a plain map."""
    selector = (tree.get("spec") or {}).get("selector") or {}
    plain = not ("matchLabels" in selector or "matchExpressions" in selector)
    return str(labels.from_labels(selector) if plain else labels.from_object(selector))


def _where(resource: Resource) -> Scale:
    """Returns the paths of the replicas in an object."""
    version = resource.crd.version(resource.version) if resource.crd else None
    if version is None or version.subresources is None or version.subresources.scale is None:
        return _REPLICAS
    return version.subresources.scale


def _paths(resource: Resource) -> dict[str, tuple[str, ...] | None]:
    """Returns the path of the replicas in every version of the object."""
    found: dict[str, tuple[str, ...] | None] = {}
    for api_version, member in resource.family.items():
        has_scale = "scale" in member.subresources
        found[api_version] = replicas_path(_where(member).spec_replicas_path) if has_scale else None
    return found


def _field_manager(clock: Clock) -> FieldManager:
    return FieldManager(
        api_version=SCALE_VERSION,
        kind="Scale",
        types={SCALE_VERSION: shape_of(_DEFINITION).type},
        clock=clock,
        subresource="scale",
    )
