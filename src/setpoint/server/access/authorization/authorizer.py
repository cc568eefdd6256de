"""What an authorizer is: it answers whether a user may do what a request asks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from setpoint.objects.errors import Forbidden
from setpoint.objects.tree import Object
from setpoint.server.requestinfo import RequestInfo

if TYPE_CHECKING:
    from setpoint.server.request.context import Services, User

MASTERS = "system:masters"


class Decision(NamedTuple):
    """The answer, with the reason that a refused client is told."""

    allowed: bool
    reason: str = ""


class UserRules(NamedTuple):
    """All policy rules of a user in one namespace, as roles have them, and what could not be found out."""

    rules: Sequence[Object]
    errors: Sequence[str] = ()


ALLOWED = Decision(True)


class Authorizer(Protocol):
    """Answers for the requests of one server. `prepare` must have returned before `decide` or `rules` is asked, which
    are then plain computing: an expression of a policy may ask many times."""

    def attach(self, services: "Services") -> None:
        """Tells which server it is that it answers for."""

    async def prepare(self, user: "User | None" = None) -> None:
        """Has at hand what decisions about a user need; about anybody, where none is named."""

    def decide(self, user: "User", info: RequestInfo) -> Decision: ...

    def rules(self, user: "User", namespace: str) -> UserRules:
        """What the user may do in a namespace."""


def refusal(user: "User", info: RequestInfo, decision: Decision) -> Forbidden:
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
