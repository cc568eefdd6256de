"""The RBAC authorizer: users may perform exactly the actions that their bound roles allow.

Decisions are cached until a role or binding changes; on a cache miss only the roles of the user are examined. The
object name is not part of the cache key: a cached answer lists the names for which a decision applies.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from setpoint.objects.gotext import quote
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.roles import GROUP, RoleName, Roles
from setpoint.server.ports import ALLOWED, Decision, UserRules

if TYPE_CHECKING:
    from setpoint.server.ports import User
    from setpoint.server.request.context import Services
    from setpoint.server.requestinfo import RequestInfo

# The size of the cache, and the maximum total length of a cached key.
_REMEMBERED = 4096
_LONG = 1024


class _Answer(NamedTuple):
    """The decision for all names, with exceptions for particular names."""

    decision: Decision
    named: Sequence[tuple[frozenset[str], Decision]] = ()

    def for_name(self, name: str) -> Decision:
        for names, decision in self.named:
            if name in names:
                return decision
        return self.decision


class RBAC:
    """Authorizes requests by the roles and bindings of the server. Members of `system:masters` may do everything."""

    def __init__(self, roles: Roles | None = None) -> None:
        self.roles = roles or Roles()
        self._answers: dict[tuple[object, ...], _Answer] = {}
        self._generation = 0

    def attach(self, services: "Services") -> None:
        self.roles.attach(services)

    async def prepare(self, user: "User | None" = None) -> None:
        if user is None or MASTERS not in user.groups:
            await self.roles.load()

    def decide(self, user: "User", info: "RequestInfo") -> Decision:
        groups = tuple(user.groups)
        if MASTERS in groups:
            return ALLOWED
        if self._generation != self.roles.generation:
            self._generation = self.roles.generation
            self._answers.clear()
        verb, path, is_resource, group, _, namespace, resource, name, subresource, _, _ = info
        key: tuple[object, ...] = (user.name, groups, verb, path)
        if is_resource:
            key = (user.name, groups, verb, group, resource, subresource, namespace)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._of_resource(user, info) if is_resource else self._of_path(user, info)
            self._cache_answer(key, answer)
        return answer.for_name(name) if answer.named else answer.decision

    def rules(self, user: "User", namespace: str) -> UserRules:
        found, missing = self.roles.rules_of(user, namespace)
        return UserRules(found, _resolution_errors(missing))

    def _of_resource(self, user: "User", info: "RequestInfo") -> _Answer:
        named: list[tuple[frozenset[str], Decision]] = []
        missing: list[RoleName] = []
        for role, rules, binding in self.roles.granted(user, info.namespace):
            if rules is None:
                missing.append(role)
                continue
            for rule in rules.for_resource(info.verb, info.group, info.resource, info.subresource):
                allowed = Decision(True, f"RBAC: allowed by {binding.source(user)}")
                if rule.names is None:
                    return _Answer(allowed)
                named.append((rule.names, allowed))
        return _Answer(_refused(missing), named)

    def _of_path(self, user: "User", info: "RequestInfo") -> _Answer:
        missing: list[RoleName] = []
        for role, rules, binding in self.roles.granted(user, ""):
            if rules is None:
                missing.append(role)
            elif rules.allow_path(info.verb, info.path):
                return _Answer(Decision(True, f"RBAC: allowed by {binding.source(user)}"))
        return _Answer(_refused(missing))

    def _cache_answer(self, key: tuple[object, ...], answer: _Answer) -> None:
        texts = (part if isinstance(part, str) else "".join(part) for part in key)  # type: ignore[arg-type]
        if sum(map(len, texts)) > _LONG:
            return
        if len(self._answers) >= _REMEMBERED:
            self._answers.clear()
        self._answers[key] = answer


def _refused(missing: Sequence[RoleName]) -> Decision:
    errors = _resolution_errors(missing)
    return Decision(False, f"RBAC: {aggregate(errors)}" if errors else "")


def _resolution_errors(missing: Sequence[RoleName]) -> Sequence[str]:
    """Returns one error for each bound role that does not exist."""
    return list(dict.fromkeys(f"{_kind(role)}.{GROUP} {quote(role[1])} not found" for role in missing))


def _kind(role: RoleName) -> str:
    return "role" if role[0] else "clusterrole"


def aggregate(errors: Sequence[str]) -> str:
    """Joins several errors into one text in the format of Go's client library."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
