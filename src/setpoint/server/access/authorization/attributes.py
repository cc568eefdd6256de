"""What a request asks for, as the authorizer is to see it, when it comes and when it turns out to ask for more."""

from setpoint.objects import fields
from setpoint.objects.errors import BadRequest
from setpoint.objects.gvk import GroupResource
from setpoint.objects.names import path_segment
from setpoint.server.access.authorization.authorizer import refusal
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo

_SELECTING = frozenset(("list", "watch"))
_MAY_CREATE = frozenset(("update", "patch"))


def asked(context: Context) -> RequestInfo:
    """The request with the name of the one object it is about, also where a field selector says which: so a rule for
    certain names holds for who watches, or lists, just one of them."""
    info = context.info
    if info.name or info.verb not in _SELECTING or "fieldSelector=" not in context.request.query:
        return info
    try:
        name = fields.parse(context.parameter("fieldSelector")).exact("metadata.name")
    except BadRequest:
        return info
    return info._replace(name=name) if name and not path_segment(name) else info


async def authorize_creation(context: Context, resource: GroupResource) -> None:
    """Refuses a PUT, or an apply, that would make the object it names, to who may not create it."""
    info = context.info
    if info.verb in _MAY_CREATE and info.resource == resource.resource and info.group == resource.group:
        await _authorize(context, RequestInfo("create", *info[1:]))


async def authorize_reading(context: Context, resource: Resource, namespace: str, name: str) -> None:
    """Refuses what tells of an object to who may not get the object itself."""
    if resource.group_resource == GroupResource("", "namespaces"):
        namespace = name  # a namespace counts as being in itself
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
        ),
    )


async def authorize_listing(context: Context, resource: Resource) -> None:
    """Refuses what tells of all objects of a resource to who may not list them."""
    group, version, plural = resource.group, resource.version, resource.resource
    await _authorize(context, RequestInfo("list", "", is_resource=True, group=group, version=version, resource=plural))


async def _authorize(context: Context, info: RequestInfo) -> None:
    authorizer, user = context.services.authorizer, context.user
    await authorizer.prepare(user)
    decision = authorizer.decide(user, info)
    if not decision.allowed:
        raise refusal(user, info, decision)
