"""The error for requests that the authorizer refuses, and the group of administrators."""

from setpoint.objects.errors import Forbidden
from setpoint.server.ports import Decision, User
from setpoint.server.requestinfo import RequestInfo

MASTERS = "system:masters"


def refusal(user: User, info: RequestInfo, decision: Decision) -> Forbidden:
    """Returns the Forbidden error for a refused request."""
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
