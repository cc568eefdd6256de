"""Replaces the object of an operation after a webhook, function or policy has changed the object: decodes and defaults
anew."""

from setpoint.merge import managedfields
from setpoint.merge.managedfields import ManagedFieldsError
from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import InternalError, strict_decoding_text, unknown_field
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin
from setpoint.server.ports import Operation
from setpoint.server.registry.builtin_shape import shape_of
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.shape import Shape
from setpoint.server.request.context import Context

_INVALID_MANAGED_FIELDS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: {}"
)


def shape_at(resource: Resource, kind: GroupVersionKind) -> Shape:
    """Returns the shape of the objects of an endpoint: the resource's own, or that of a Scale or Eviction."""
    if kind == resource.gvk:
        return resource.shape
    definition = builtin.kinds().get(kind)
    if definition is None:
        # The options of a CONNECT are in its URL.
        raise InternalError.of(f"a {kind.kind} cannot be changed by admission")
    return shape_of(definition)


async def replace(
    context: Context, operation: Operation, tree: Json, shown_as: Resource | None = None, *, strict: bool = False
) -> bool:
    """Replaces the object of an operation and returns True if the object changed.

    The new object is normalized and defaulted. Unknown fields are dropped silently, as in kube-apiserver, or raise
    InternalError if `strict`. Raises InternalError if the kind or structure is wrong. `shown_as` is the resource in
    whose version the tree is, if not the operation's own. Managed fields are restored if the change made them invalid.
    """
    resource, before = operation.resource, operation.object
    shown = shown_as or resource
    kind = shown.kind_at(operation.subresource)
    if type(tree) is not dict or tree.get("kind") != kind.kind or tree.get("apiVersion") != kind.api_version:
        raise InternalError.of(
            f"admission must not change the kind or apiVersion of a {kind.kind} of {kind.api_version}"
        )
    _decode(shown, kind, tree, strict, context.services.clock)
    if shown is not resource and kind == shown.gvk:
        made = tree
        tree = await shown.converting(lambda: shown.to(resource, made))
    if before is not None:
        _keep_owners(context, before, tree)
    operation.object = tree
    return bool(tree != before)


def _decode(resource: Resource, kind: GroupVersionKind, tree: Object, strict: bool, clock: Clock) -> None:
    try:
        unknown = shape_at(resource, kind).normalize(tree)
    except ValueError as error:
        raise InternalError.of(str(error)) from None
    if unknown and strict and not resource.is_custom:
        raise InternalError.of(strict_decoding_text(map(unknown_field, unknown)))
    if kind == resource.gvk:
        resource.strategy.set_defaults(tree, clock)


def _keep_owners(context: Context, before: Object, tree: Object) -> None:
    metadata = tree.get("metadata") or {}
    entries, previous = metadata.get("managedFields"), (before.get("metadata") or {}).get("managedFields")
    if entries == previous:
        return
    try:
        managedfields.parse(entries or [])
    except ManagedFieldsError as error:
        context.warn(_INVALID_MANAGED_FIELDS.format(error))
        meta.put(metadata, "managedFields", previous)
