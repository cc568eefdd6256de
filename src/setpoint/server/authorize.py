"""Authorization: whether a user may do what a request asks. The rules come from outside; here is the question."""

from typing import NamedTuple, Protocol

from setpoint.objects.errors import Forbidden
from setpoint.server.context import User
from setpoint.server.requestinfo import RequestInfo

MASTERS = "system:masters"


class Decision(NamedTuple):
    """The answer, with the reason that a refused client is told."""

    allowed: bool
    reason: str = ""


class Authorizer(Protocol):
    """Answers for one request."""

    async def authorize(self, user: User, info: RequestInfo) -> Decision: ...


class Masters:
    """The authorizer of a server without rules: who belongs to `system:masters` may do everything, nobody else much."""

    async def authorize(self, user: User, info: RequestInfo) -> Decision:
        return Decision(MASTERS in user.groups)


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
