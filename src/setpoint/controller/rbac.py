"""The RBAC rules that controllers need: derived from their declarations, or from recorded accesses.

By its declaration a controller may read and write its primary kind and update its status, do everything with owned
kinds, and read watched and looked-up kinds. Recorded accesses give a smaller role that covers only the observed run: a
test that covers all code paths yields the minimal role.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, kind_of
from setpoint.client.mapper import NoMatch
from setpoint.controller.controller import Controller
from setpoint.controller.declare import controller_of
from setpoint.controller.watch import Owned, Watch
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "get", "list", "patch", "update", "watch")
# The verbs of RBAC.
_VERBS = {"apply": ("patch", "create")}

# The verbs by namespace (empty: the whole cluster), group and resource with its subresource.
Rights = dict[tuple[str, str, str], set[str]]


async def rules(controllers: Iterable[object], client: Client, *, recorded: bool = False) -> list[Object]:
    """Returns the rules that controllers or declarations need.

    The rules follow from the declared kinds or, with `recorded`, from the accesses so far. Asks the server for the
    resource names of the kinds. Raises NoMatch for a kind that the server does not have.

        rules = await rbac.rules([website], client)
        manifests("websites", rules, service_account="default/websites")
    """
    rights, extra = await _needs(controllers, client, recorded=recorded)
    merged: Rights = {}
    for (_, group, resource), verbs in rights.items():
        merged.setdefault(("", group, resource), set()).update(verbs)
    return [*_grouped(merged), *(rule for _, rule in extra)]


async def rules_by_namespace(
    controllers: Iterable[object], client: Client, *, recorded: bool = False
) -> dict[str, list[Object]]:
    """Returns the rules that controllers need, by namespace; those under the empty name need a ClusterRole.

    A controller with `namespaces` needs its rules in these namespaces only, except those for cluster-scoped kinds.
    """
    rights, extra = await _needs(controllers, client, recorded=recorded)
    found: dict[str, list[Object]] = {}
    for namespace in sorted({namespace for namespace, _, _ in rights}):
        found[namespace] = _grouped({key: verbs for key, verbs in rights.items() if key[0] == namespace})
    for namespaces, rule in extra:
        for namespace in ("",) if await _is_cluster_scoped(rule, client) else namespaces or ("",):
            listed = found.setdefault(namespace, [])
            if rule not in listed:
                listed.append(rule)
    return found


async def _needs(
    controllers: Iterable[object], client: Client, *, recorded: bool
) -> tuple[Rights, list[tuple[Sequence[str], Object]]]:
    """Returns the rights by kinds, and the additional rules with the namespaces of their controllers."""
    needs = _Needs(client)
    extra: list[tuple[Sequence[str], Object]] = []
    for controller in map(controller_of, controllers):
        needs.namespaces = tuple(controller.options.namespaces) or ("",)
        for source in controller.sources:
            if isinstance(source, Watch) and not source.cluster:
                await needs.add_declared(source, controller, recorded)
        if recorded:
            for kind, subresource, verb in controller.accesses:
                await needs.allow(kind, subresource, _VERBS.get(verb, (verb,)))
        extra += [(controller.options.namespaces, _plain(rule)) for rule in controller.options.extra_rules]
    return needs.rights, extra


class _Needs:
    """The rights of controllers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.rights: Rights = {}
        # The namespaces of the current controller.
        self.namespaces: Sequence[str] = ("",)

    async def add_declared(self, source: Watch, controller: Controller, recorded: bool) -> None:
        kind = kind_of(source.kind)
        own = controller.primary is not None and kind == controller.primary
        try:
            if recorded or not (own or isinstance(source, Owned)):
                await self.allow(kind.gvk, "", READ)
                return
            await self.allow(kind.gvk, "", WRITE if isinstance(source, Owned) else (*READ, "patch", "update"))
            if own:
                await self._allow_own(kind)
        except NoMatch:
            if not source.optional:
                raise

    async def _allow_own(self, kind: KindRef) -> None:
        """Allows status updates, and updates of finalizers, which setting a blocking owner reference may require."""
        resource = await self._client.resource(kind)
        if "status" in resource.subresources or kind.cls is not None:
            await self.allow(kind.gvk, "status", ("get", "patch", "update"))
        await self.allow(kind.gvk, "finalizers", ("update",))

    async def allow(self, kind: GroupVersionKind, subresource: str, verbs: Iterable[str]) -> None:
        resource = await self._client.resource(kind)
        name = f"{resource.plural}/{subresource}" if subresource else resource.plural
        for namespace in self.namespaces if resource.namespaced else ("",):
            self.rights.setdefault((namespace, kind.group, name), set()).update(verbs)


async def _is_cluster_scoped(rule: Object, client: Client) -> bool:
    """Returns True if a rule concerns paths, or cluster-scoped resources of the server."""
    if rule.get("nonResourceURLs"):
        return True
    groups, resources = rule.get("apiGroups") or (), rule.get("resources") or ()
    served = await client.mapper.resources(refresh=False)
    scopes = {(each.gvk.group, each.plural): each.namespaced for each in served}
    return any(not scopes.get((group, resource.partition("/")[0]), True) for group in groups for resource in resources)


def _grouped(rights: Rights) -> list[Object]:
    """Converts permissions to rules: one for all resources of a group with the same verbs."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (_, group, resource), verbs in sorted(rights.items()):
        together.setdefault((group, tuple(sorted(verbs))), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in together.items()
    ]


def _plain(rule: Mapping[str, Any]) -> Object:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in rule.items()}


def manifests(
    name: str, rules: Iterable[Object], *, service_account: str = "", namespaces: Iterable[str] = ()
) -> list[Object]:
    """Returns the objects that grant the rules to a service account (`namespace/name`).

    These are a ClusterRole and its binding, or a Role and its binding in each of the namespaces. Without an account,
    only the roles are returned.
    """
    account_namespace, slash, account = service_account.partition("/")
    if service_account and not (slash and account and account_namespace):
        raise ValueError(f"invalid service account {service_account!r}: expected NAMESPACE/NAME")
    found: list[Object] = []
    listed = list(rules)
    for namespace in namespaces or ("",):
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        api = "rbac.authorization.k8s.io"
        found.append({"apiVersion": f"{api}/v1", "kind": kind, "metadata": metadata, "rules": listed})
        if account:
            found.append(
                {
                    "apiVersion": f"{api}/v1",
                    "kind": f"{kind}Binding",
                    "metadata": dict(metadata),
                    "roleRef": {"apiGroup": api, "kind": kind, "name": name},
                    "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": account_namespace}],
                }
            )
    return found
