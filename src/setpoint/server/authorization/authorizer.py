"""Authorization: whether a user may do what a request asks. The rules come from outside; here is the question."""

from typing import NamedTuple, Protocol

from setpoint.objects.errors import Forbidden
from setpoint.server.context import User
from setpoint.server.requestinfo import RequestInfo

MASTERS = "system:masters"

_AUTHENTICATED = "system:authenticated"
_PUBLIC = frozenset(("version", "healthz", "livez", "readyz"))
_DISCOVERY = frozenset(("api", "apis", "openapi"))


class Decision(NamedTuple):
    """The answer, with the reason that a refused client is told."""

    allowed: bool
    reason: str = ""


_ALLOWED = Decision(True)


class Authorizer(Protocol):
    """Answers for one request. `prepare` must have returned before `decide` is asked, which is then plain computing: an
    expression of a policy may ask it many times."""

    async def prepare(self) -> None:
        """Has at hand what decisions need."""

    def decide(self, user: User, info: RequestInfo) -> Decision: ...


class Masters:
    """The authorizer of a server without rules: who belongs to `system:masters` may do everything.

    Everybody else may do what the real server's default roles let them: ask for the version and whether the server is
    well, and, once authenticated, what there is to ask for.
    """

    async def prepare(self) -> None:
        """There is nothing to have."""

    def decide(self, user: User, info: RequestInfo) -> Decision:
        if MASTERS in user.groups:
            return _ALLOWED
        if info.is_resource or info.verb not in ("get", "head"):
            return Decision(False)
        first = info.path.strip("/").partition("/")[0]
        return Decision(first in _PUBLIC or (first in _DISCOVERY and _AUTHENTICATED in user.groups))


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
