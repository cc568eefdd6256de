"""Aggregated ClusterRoles: a ClusterRole with an `aggregationRule` has the rules of all ClusterRoles that the rule
selects.

Aggregated roles are updated before the write of a ClusterRole returns, so clients see the same result as after a run of
kube-controller-manager's aggregation controller.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from setpoint.objects import labels, meta
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.roles import GROUP, VERSION
from setpoint.store.contract import ExpectationFailed

if TYPE_CHECKING:
    from setpoint.server.registry.indexes import View
    from setpoint.server.registry.resource import Resource
    from setpoint.server.request.context import Context, Services

MANAGER = "clusterrole-aggregation-controller"
_ACTOR = Actor(
    f"system:serviceaccount:kube-system:{MANAGER}",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
    field_manager=MANAGER,
)
# True if the rules of a role were aggregated and have no other owner. Not a field of the API.
_IS_GATHERED = "isGathered"
# Decoding this many bytes of JSON takes about as long as comparing one rule.
_RULE_BYTES = 100
_LISTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def aggregate(roles: Iterable[Object]) -> list[Object]:
    """Returns the aggregated roles whose rules must change, with the new rules: those of each selected role, by name,
    without duplicates.

    Aggregated roles may select other aggregated roles. Rules originate from roles without an aggregation rule, so roles
    in a selection cycle do not keep rules without a source. A role that selects no rules keeps the rules that a user
    wrote.
    """
    by_name = {meta.name(role): role for role in sorted(roles, key=meta.name)}
    selected = {name: _selected(role, by_name) for name, role in by_name.items() if role.get("aggregationRule")}
    # Only the rules of aggregated and selected roles are examined.
    concerned = dict.fromkeys([*selected, *(member for members in selected.values() for member in members)])
    own = {name: {} if by_name[name].get(_IS_GATHERED) else _by_identity(by_name[name]) for name in concerned}
    rules = {name: {} if name in selected else given for name, given in own.items()}
    _spread(rules, selected, own, set())
    if left := [name for name in selected if not rules[name] and own[name]]:
        _spread(rules, selected, own, _keeping(left, selected))
    return [
        {**by_name[name], "rules": list(rules[name].values())}
        for name in selected
        if list(rules[name]) != list(_by_identity(by_name[name]))
    ]


_Rules = dict[tuple[tuple[str, ...], ...], Object]


def _spread(
    rules: dict[str, _Rules], selected: Mapping[str, list[str]], own: Mapping[str, _Rules], keeping: set[str]
) -> None:
    """Propagates rules until each role has the rules of all roles that the role selects. Roles in `keeping` retain
    their own rules as long as they select none."""
    # Each round propagates rules by at least one role. In a cycle the order of rules may never settle, hence the limit.
    for _ in range(2 * len(selected) + 1):
        before = {name: list(rules[name]) for name in selected}
        for name, members in selected.items():
            gathered = {identity: rule for member in members for identity, rule in rules[member].items()}
            rules[name] = gathered or (own[name] if name in keeping else {})
        if all(list(rules[name]) == before[name] for name in selected):
            return


def _keeping(left: list[str], selected: Mapping[str, list[str]]) -> set[str]:
    """Returns the roles among `left`, which select no rules, that keep their own rules; the others aggregate the kept
    rules.

    A role that selects another candidate does not keep its own rules; otherwise a cycle of roles would retain these
    rules forever. Of roles that select only each other, the first by name keeps its rules.
    """
    candidates = {*left}
    sources = {name: _sources(name, selected) & candidates for name in left}
    return {
        name
        for name in left
        if all(name in sources[other] and name <= other for other in sources[name] if other != name)
    }


def _sources(name: str, selected: Mapping[str, list[str]]) -> set[str]:
    """Returns the names of all roles that a role selects, directly or through other roles."""
    found: set[str] = set()
    waiting = list(selected[name])
    while waiting:
        member = waiting.pop()
        if member not in found:
            found.add(member)
            waiting += selected.get(member, ())
    return found


def _selected(role: Object, by_name: Mapping[str, Object]) -> list[str]:
    """Returns the names of the roles that an aggregated role selects, in the order of aggregation."""
    found: dict[str, None] = {}
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selects = labels.from_object(selector).matches
        for name, other in by_name.items():
            if other is not role and selects(other["metadata"].get("labels") or {}):
                found[name] = None
    return list(found)


def _by_identity(role: Object) -> _Rules:
    return {tuple(tuple(rule.get(name) or ()) for name in _LISTS): rule for rule in role.get("rules") or ()}


class Aggregation:
    """Maintains the aggregated roles of one server."""

    def __init__(self) -> None:
        self._services: Services
        self._view: View[Object] | None = None

    def attach(self, services: "Services") -> None:
        """Sets the server whose roles are maintained."""
        self._services = services

    def concerns(self, resource: "Resource", *, deletes: bool) -> bool:
        return resource.resource == "clusterroles" and resource.group == GROUP

    async def after_write(self, context: "Context", resource: "Resource", tree: Object) -> None:
        await self.update_roles(context.cause)

    async def after_delete(self, context: "Context", resource: "Resource", tree: Object) -> None:
        await self.update_roles(context.cause)

    async def update_roles(self, cause: Cause | None = None) -> None:
        """Updates the rules of every aggregated role."""
        if self._view is None:
            self._view = self._services.views.of(GROUP, VERSION, "clusterroles", _outline)
        roles = list((await self._view.current()).values())
        size = _RULE_BYTES * sum(len(role["rules"] or ()) for role in roles)
        for role in await self._services.offloaded(lambda: aggregate(roles), size):
            await self._apply(meta.name(role), role["rules"], cause)

    async def _apply(self, name: str, rules: list[Object], cause: Cause | None) -> None:
        resource = self._services.registry.resource(GROUP, VERSION, "clusterroles")
        if resource is None:
            return
        key = resource.storage.key("", name)
        item = await self._services.store.get(key)
        if item is None:
            return
        config: Object = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
        if rules:
            config["rules"] = rules
        manager, shape = resource.field_manager("", self._services.clock), resource.shape

        def applied() -> bytes:
            tree = manager.apply(resource.item(item), config, MANAGER, force=True)
            shape.complete(tree)
            return resource.encode(tree)

        value = await self._services.offloaded(applied, max(len(item.value), _RULE_BYTES * len(rules)))
        try:
            if value != item.value:
                await self._services.commit(key, value, item.revision, _ACTOR, cause)
        except ExpectationFailed:
            return  # the concurrent writer updates the aggregation


def _outline(tree: Object) -> Object:
    """Returns the fields of a role that aggregation needs."""
    metadata = tree["metadata"]
    return {
        "metadata": {"name": metadata["name"], "labels": metadata.get("labels")},
        "rules": tree.get("rules"),
        "aggregationRule": tree.get("aggregationRule"),
        _IS_GATHERED: any(
            entry.get("manager") == MANAGER and "f:rules" in (entry.get("fieldsV1") or ())
            for entry in metadata.get("managedFields") or ()
        ),
    }
