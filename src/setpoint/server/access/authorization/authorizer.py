"""What an authorizer is: it answers whether a user may do what a request asks."""

from setpoint.objects.errors import Forbidden
from setpoint.server.ports import Decision, User
from setpoint.server.requestinfo import RequestInfo

MASTERS = "system:masters"


def refusal(user: User, info: RequestInfo, decision: Decision) -> Forbidden:
    """What a refused client is told."""
    if not info.is_resource:
        return Forbidden.path(user.name, info.verb, info.path, decision.reason)
    return Forbidden.request(
        user.name,
        info.verb,
        info.group_resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        why=decision.reason,
    )
