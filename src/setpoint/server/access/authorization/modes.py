"""The authorization modes of a server; the default is `RBAC`."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.rbac import RBAC
from setpoint.server.ports import ALLOWED, Decision, UserRules
from setpoint.server.request.context import Authorizer

if TYPE_CHECKING:
    from setpoint.server.ports import User
    from setpoint.server.request.context import Services
    from setpoint.server.requestinfo import RequestInfo

_EVERYTHING: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
_EVERY_PATH: Object = {"verbs": ["*"], "nonResourceURLs": ["*"]}
_REFUSED = Decision(False, "Everything is forbidden.")


class AlwaysAllow:
    """Allows every request: for tests, and for servers that only trusted clients can reach."""

    def attach(self, services: "Services") -> None:
        """Ignores the server: the mode needs no data."""

    async def prepare(self, user: "User | None" = None) -> None:
        """Returns at once: the mode loads no data."""

    def decide(self, user: "User", info: "RequestInfo") -> Decision:
        return ALLOWED

    def rules(self, user: "User", namespace: str) -> UserRules:
        return UserRules([_EVERYTHING, _EVERY_PATH])


class AlwaysDeny(AlwaysAllow):
    """Refuses every request except those of `system:masters`, so that the server itself keeps working."""

    def decide(self, user: "User", info: "RequestInfo") -> Decision:
        return ALLOWED if MASTERS in user.groups else _REFUSED

    def rules(self, user: "User", namespace: str) -> UserRules:
        return UserRules([_EVERYTHING, _EVERY_PATH] if MASTERS in user.groups else [])


MODES: Mapping[str, Callable[[], Authorizer]] = {"RBAC": RBAC, "AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}


def authorizer_of(mode: str) -> Authorizer:
    """Returns a new authorizer for a mode. Raises ValueError."""
    made = MODES.get(mode)
    if made is None:
        raise ValueError(f"{mode!r} is not an authorization mode: use one of {', '.join(MODES)}")
    return made()
