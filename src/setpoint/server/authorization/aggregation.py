"""Aggregated ClusterRoles: those with an `aggregationRule` have the rules of all ClusterRoles that it selects.

Whoever writes a ClusterRole finds the others right when the answer comes, as if a very fast controller had seen it.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from setpoint.objects import labels, meta
from setpoint.objects.provenance import Actor, Cause
from setpoint.objects.tree import Object
from setpoint.server.authorization.roles import GROUP, VERSION
from setpoint.store.contract import ExpectationFailed

if TYPE_CHECKING:
    from setpoint.server.context import Context, Services
    from setpoint.server.resource import Resource
    from setpoint.server.views import View

MANAGER = "clusterrole-aggregation-controller"
_ACTOR = Actor(
    f"system:serviceaccount:kube-system:{MANAGER}",
    ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
    field_manager=MANAGER,
)
_LISTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def gathered(tree: Object, roles: Iterable[Object]) -> list[Object]:
    """The rules of an aggregated role: those of each role that it selects, by name, each rule once."""
    found: dict[tuple[tuple[str, ...], ...], Object] = {}
    by_name = sorted(roles, key=meta.name)
    for selector in tree["aggregationRule"].get("clusterRoleSelectors") or ():
        selects = labels.from_object(selector).matches
        for role in by_name:
            if meta.name(role) != meta.name(tree) and selects(role["metadata"].get("labels") or {}):
                for rule in role.get("rules") or ():
                    found.setdefault(_identity(rule), rule)
    return list(found.values())


def _identity(rule: Object) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(rule.get(name) or ()) for name in _LISTS)


def settle(roles: Sequence[Object]) -> list[Object]:
    """Those of some roles that gather other rules than they have, with the right ones: what gathers may be gathered
    itself. Roles that gather each other come to rest as well, for rules are only ever passed on."""
    current = {meta.name(role): role for role in roles}
    aggregated = [name for name, role in current.items() if role.get("aggregationRule") is not None]
    changed: dict[str, Object] = {}
    for _ in range(len(aggregated) + 1):
        is_settled = True
        for name in aggregated:
            role = current[name]
            rules = gathered(role, current.values())
            if [*map(_identity, rules)] != [*map(_identity, role.get("rules") or ())]:
                changed[name] = current[name] = {**role, "rules": rules}
                is_settled = False
        if is_settled:
            break
    return list(changed.values())


class Aggregation:
    """Keeps the aggregated roles of one server."""

    def __init__(self) -> None:
        self._services: Services
        self._view: View[Object] | None = None

    def attach(self, services: "Services") -> None:
        """Tells whose roles these are."""
        self._services = services

    def concerns(self, resource: "Resource") -> bool:
        return resource.resource == "clusterroles" and resource.group == GROUP

    async def after_write(self, context: "Context", resource: "Resource", tree: Object) -> None:
        await self.settle(context.cause)

    async def after_delete(self, context: "Context", resource: "Resource", tree: Object) -> None:
        await self.settle(context.cause)

    async def settle(self, cause: Cause | None = None) -> None:
        """Gives every aggregated role the rules that it should have."""
        if self._view is None:
            self._view = self._services.views.of(GROUP, VERSION, "clusterroles", _outline)
        while changed := settle(list((await self._view.current()).values())):
            for role in changed:
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
        manager = resource.field_manager("", self._services.clock)
        tree = manager.apply(resource.item(item), config, MANAGER, force=True)
        resource.shape.complete(tree)
        try:
            await self._services.commit(key, resource.encode(tree), item.revision, _ACTOR, cause)
        except ExpectationFailed:
            return  # whoever wrote it meanwhile settles it


def _outline(tree: Object) -> Object:
    """What matters of a role here."""
    metadata = {"name": meta.name(tree), "labels": tree["metadata"].get("labels")}
    return {"metadata": metadata, "rules": tree.get("rules"), "aggregationRule": tree.get("aggregationRule")}
