"""The parameters of a policy: objects of one kind that each binding names or selects."""

from setpoint.objects import labels
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.objects.tree import Json, Object
from setpoint.server.ports import Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import ObjectSelector
from setpoint.server.request.context import Context
from setpoint.server.request.slices import matching

# The indexes of parameters count for the server, and not for the users whose requests are checked.
_USER = ""
_ACROSS_SCOPES = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
_NO_NAMESPACE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NONE_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


class ConfigurationError(Exception):
    """A policy or binding refers to missing resources or parameters. The failure policy decides the outcome."""


def param_resource(context: Context, kind: Object | None) -> Resource | None:
    """Returns the resource of a `paramKind`, or None if the policy has no parameters. Raises ConfigurationError."""
    if kind is None:
        return None
    version = GroupVersion.parse(kind.get("apiVersion") or "")
    wanted = GroupVersionKind(version.group, version.version, kind.get("kind") or "")
    found = context.registry.kinds.get(wanted)
    if found is None:
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{wanted}'")
    return found


async def params_of(
    context: Context, operation: Operation, resource: Resource | None, reference: Object | None
) -> list[Json]:
    """Returns the current parameters of a binding; the policy is evaluated once for each.

    Returns a single None if the policy has no parameters. Raises ConfigurationError.
    """
    if resource is None or reference is None:
        return [None]
    namespace = reference.get("namespace") or ""
    if resource.namespaced:
        namespace = namespace or operation.namespace
        if not namespace:
            raise ConfigurationError(_ACROSS_SCOPES)
    elif namespace:
        raise ConfigurationError(_NO_NAMESPACE)
    found = await _read(context, resource, namespace, reference)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError(_NONE_FOUND)
    return found


async def _read(context: Context, resource: Resource, namespace: str, reference: Object) -> list[Json]:
    store = context.services.store
    if name := reference.get("name"):
        item = await store.get(resource.storage.key(namespace, name))
        return [] if item is None else [await resource.decoded(item)]
    selector = ObjectSelector(resource, namespace, labels.from_object(reference.get("selector") or {}))
    items = await matching(context, resource, selector, _USER)
    return await resource.converting(lambda: list(map(resource.item, items)), items)
