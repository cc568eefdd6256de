"""Nobody gives rights that they do not have: what is asked before a role or a binding is written.

Who may `escalate` a role, or `bind` the role that a binding names, may give what they do not have. As on the real
server this is asked once all that changes objects has had its turn, and before anything judges the object; so it is the
last rule of the mutating phase. It holds for every way to write: POST, PUT, each kind of patch, apply, dry run.
"""

from setpoint.objects.errors import Forbidden, NotFound
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.coverage import TooManyRights, described, not_covered, quoted
from setpoint.server.access.authorization.policy_rules import Rules
from setpoint.server.access.authorization.rbac import aggregate
from setpoint.server.access.authorization.roles import GROUP, RoleName, Roles, role_name
from setpoint.server.ports import CREATE, UPDATE, Operation
from setpoint.server.registry.resource import Resource
from setpoint.server.request.admission_plugin import Plugin
from setpoint.server.request.context import Context
from setpoint.server.requestinfo import RequestInfo

_ROLES = frozenset(("roles", "clusterroles"))
_BINDINGS = frozenset(("rolebindings", "clusterrolebindings"))
_EVERYTHING: tuple[Object, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
# About as many bytes of JSON take as long to read as a rule takes to compare.
_RULE_BYTES = 100
# What the garbage collector changes, and who wrote it: no reason to ask.
_COLLECTED = frozenset(("ownerReferences", "finalizers", "managedFields"))


class Escalation(Plugin):
    """Refuses roles and bindings that give more than their author has."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    def concerns(self, resource: Resource, verb: str) -> bool:
        return verb in (CREATE, UPDATE) and resource.group == GROUP and resource.resource in _ROLES | _BINDINGS

    async def mutate(self, context: Context, operation: Operation) -> None:
        tree, old = operation.object, operation.old
        if MASTERS in context.user.groups or tree is None or (old is not None and _is_collecting(tree, old)):
            return
        await context.services.authorizer.prepare(context.user)
        await self._roles.load()
        if operation.resource.resource in _ROLES:
            await self._check_role(context, operation, tree)
        else:
            await self._check_binding(context, operation, tree)

    async def _check_role(self, context: Context, operation: Operation, tree: Object) -> None:
        info = context.info
        if _may(context, "escalate", info.resource, info.namespace, info.name):
            return
        await self._confirm(context, operation, tree.get("rules") or ())
        if any(_selects(role) for role in (tree, operation.old or {})):
            try:
                await self._confirm(context, operation, _EVERYTHING)
            except Forbidden:
                why = "must have cluster-admin privileges to use the aggregationRule"
                raise Forbidden.of(operation.resource.group_resource, operation.name, why) from None

    async def _check_binding(self, context: Context, operation: Operation, tree: Object) -> None:
        reference = tree.get("roleRef") or {}
        kind, name = reference.get("kind", ""), reference.get("name", "")
        if kind not in ("Role", "ClusterRole"):
            return  # no such role can be, and what judges the object says so
        if _may(context, "bind", f"{kind.lower()}s", operation.namespace, name):
            return
        rules = self._roles.rules(role_name(reference, operation.namespace))
        if rules is None:
            raise NotFound.of(operation.resource.group_resource, name)
        await self._confirm(context, operation, [rule.tree for rule in rules.all])

    async def _confirm(
        self, context: Context, operation: Operation, wanted: "tuple[Object, ...] | list[Object]"
    ) -> None:
        """Refuses rules that the user does not have."""
        user, resource = context.user, operation.resource.group_resource
        owned, missing_roles = self._roles.rules_of(user, operation.namespace)
        try:
            size = _RULE_BYTES * (len(owned) + len(wanted))
            missing = await context.offload(lambda: not_covered(Rules(owned), wanted), size)
        except TooManyRights:
            why = "it gives more single permissions than can be compared with those of its author: make several smaller"
            raise Forbidden.of(resource, operation.name, why) from None
        if not missing:
            return
        who = f"user {quote(user.name)} (groups={quoted(user.groups)})"
        lacking = await context.offload(lambda: described(missing), _RULE_BYTES * len(missing))
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lacking}"
        if missing_roles:
            why += f"; resolution errors: [{aggregate(_not_found(operation.resource, missing_roles))}]"
        raise Forbidden.of(resource, operation.name, why)


def _not_found(resource: Resource, roles: list[RoleName]) -> list[str]:
    return [f"{resource.group_resource} {quote(name)} not found" for name in dict.fromkeys(name for _, name in roles)]


def _may(context: Context, verb: str, resource: str, namespace: str, name: str) -> bool:
    asked = RequestInfo(verb, "", True, group=GROUP, version="*", namespace=namespace, resource=resource, name=name)
    return context.services.authorizer.decide(context.user, asked).allowed


def _selects(tree: Object) -> bool:
    return bool((tree.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_collecting(tree: Object, old: Object) -> bool:
    """Whether an update changes nothing but what the garbage collector does."""
    return _kept(tree) == _kept(old)


def _kept(tree: Object) -> Object:
    return {**tree, "metadata": {name: value for name, value in tree["metadata"].items() if name not in _COLLECTED}}
