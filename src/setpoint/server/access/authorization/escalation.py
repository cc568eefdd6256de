"""Prevents privilege escalation: users may grant only permissions that they have.

Users with the `escalate` verb on a role, or the `bind` verb on the role of a binding, may grant permissions that they
lack. As in kube-apiserver, the check runs after all mutating plugins and before validation, so this plugin is the last
one of the mutating phase. The check covers every kind of write: POST, PUT, all patch types, apply and dry run.
"""

from setpoint.objects.errors import Forbidden, NotFound
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.authorizer import MASTERS
from setpoint.server.access.authorization.coverage import TooManyRights, described, not_covered, quoted
from setpoint.server.access.authorization.policy_rules import RoleRules
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
# Decoding this many bytes of JSON takes about as long as comparing one rule.
_RULE_BYTES = 100
# Metadata that the garbage collector changes; such updates need no check.
_COLLECTED = frozenset(("ownerReferences", "finalizers", "managedFields"))


class Escalation(Plugin):
    """Refuses roles and bindings that grant more permissions than the user has."""

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
            return  # validation refuses this roleRef
        if _may(context, "bind", f"{kind.lower()}s", operation.namespace, name):
            return
        rules = self._roles.rules(role_name(reference, operation.namespace))
        if rules is None:
            raise NotFound.of(operation.resource.group_resource, name)
        await self._confirm(context, operation, [rule.tree for rule in rules.all])

    async def _confirm(
        self, context: Context, operation: Operation, wanted: "tuple[Object, ...] | list[Object]"
    ) -> None:
        """Refuses rules that grant permissions the user lacks. Raises Forbidden."""
        user, resource = context.user, operation.resource.group_resource
        owned, missing_roles = self._roles.rules_of(user, operation.namespace)
        try:
            size = _RULE_BYTES * (len(owned) + len(wanted))
            missing = await context.offload(lambda: not_covered(RoleRules(owned), wanted), size)
        except TooManyRights:
            why = "the rules have more single permissions than the server can compare: split them into several roles"
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
    permission = RequestInfo(
        verb, "", True, group=GROUP, version="*", namespace=namespace, resource=resource, name=name
    )
    return context.services.authorizer.decide(context.user, permission).allowed


def _selects(tree: Object) -> bool:
    return bool((tree.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _is_collecting(tree: Object, old: Object) -> bool:
    """Returns True if an update changes only metadata that the garbage collector changes."""
    return _kept(tree) == _kept(old)


def _kept(tree: Object) -> Object:
    return {**tree, "metadata": {name: value for name, value in tree["metadata"].items() if name not in _COLLECTED}}
