"""The attributes of a request for the authorizer, and the additional checks of requests that need further
permissions."""

from setpoint.objects import fields, labels
from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupResource
from setpoint.objects.names import path_segment
from setpoint.server.access.authorization.authorizer import refusal
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import parse_number
from setpoint.server.requestinfo import RequestInfo

# The verbs that have a field selector.
SELECTING = frozenset(("list", "watch"))
_MAY_CREATE = frozenset(("update", "patch"))


def request_attributes(context: Context) -> RequestInfo:
    """Returns the request with the object name that a field selector gives, so that a rule with resourceNames also
    covers a list or watch of that single object."""
    info = context.info
    if info.name or info.verb not in SELECTING or "fieldSelector=" not in context.request.query:
        return info
    try:
        # As on kube-apiserver, the other options must be valid too.
        labels.parse(context.parameter("labelSelector"))
        parse_number(context.parameter("limit"))
        parse_number(context.parameter("timeoutSeconds"))
        name = fields.parse(context.parameter("fieldSelector")).exact("metadata.name")
    except BadRequest:
        return info
    return info._replace(name=name) if name and not path_segment(name) else info


async def authorize_creation(context: Context, resource: GroupResource) -> None:
    """Checks the create permission for a PUT or apply that would create the object. Raises Forbidden."""
    info = context.info
    if info.verb in _MAY_CREATE and info.resource == resource.resource and info.group == resource.group:
        await _authorize(context, RequestInfo("create", *info[1:]))


async def authorize_reading(
    context: Context, resource: Resource, namespace: str, name: str, subresource: str = ""
) -> None:
    """Checks the get permission for an object that a response describes, or for a subresource of the object. Raises
    Forbidden."""
    if resource.group_resource == GroupResource("", "namespaces"):
        namespace = name  # a Namespace object belongs to the namespace of its own name
    await _authorize(
        context,
        RequestInfo(
            "get",
            "",
            is_resource=True,
            group=resource.group,
            version=resource.version,
            namespace=namespace,
            resource=resource.resource,
            name=name,
            subresource=subresource,
        ),
    )


async def authorize_verb(context: Context) -> None:
    """Checks the permission for the verb of an inner request. Raises Forbidden."""
    await _authorize(context, context.info)


async def is_allowed(context: Context) -> bool:
    """Returns True if the user has the permission for the verb of an inner request."""
    authorizer = context.services.authorizer
    await authorizer.prepare(context.user)
    return authorizer.decide(context.user, context.info).allowed


async def authorize_listing(context: Context, resource: Resource) -> None:
    """Checks the list permission for a resource whose objects a response describes. Raises Forbidden."""
    group, version, plural = resource.group, resource.version, resource.resource
    await _authorize(context, RequestInfo("list", "", is_resource=True, group=group, version=version, resource=plural))


async def _authorize(context: Context, info: RequestInfo) -> None:
    authorizer, user = context.services.authorizer, context.user
    await authorizer.prepare(user)
    decision = authorizer.decide(user, info)
    if not decision.allowed:
        raise refusal(user, info, decision)
