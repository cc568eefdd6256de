"""The context of a request that a summary, or another derived response, makes for a resource on behalf of its user."""

from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo


def inner_context(context: Context, resource: Resource, verb: str, namespace: str = "", name: str = "") -> Context:
    """Returns the context for a verb of a resource, with the user, the query and the seat of a request."""
    info = RequestInfo(
        verb,
        context.info.path,
        is_resource=True,
        group=resource.group,
        version=resource.version,
        namespace=namespace,
        resource=resource.resource,
        name=name,
        in_namespace=bool(namespace) and resource.namespaced,
    )
    made = Context(context.services, context.request, info, context.user, context.audit_id)
    made.registry, made.impersonator, made.seat = context.registry, context.impersonator, context.seat
    return made
