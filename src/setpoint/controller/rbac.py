"""The RBAC rules that controllers need: derived from their declarations, or from recorded accesses.

By its declaration a controller may read and write its primary kind and update its status, do everything with owned
kinds, and read watched and looked-up kinds. Recorded accesses give a smaller role that covers only the observed run: a
test that covers all code paths yields the minimal role.
"""

from collections.abc import Iterable, Mapping
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

# The verbs by group and resource (with its subresource).
Rights = dict[tuple[str, str], set[str]]


async def rules(controllers: Iterable[object], client: Client, *, recorded: bool = False) -> list[Object]:
    """Returns the rules that controllers or declarations need.

    The rules follow from the declared kinds or, with `recorded`, from the accesses so far. Asks the server for the
    resource names of the kinds. Raises NoMatch for a kind that the server does not have.

        rules = await rbac.rules([website], client)
        manifests("websites", rules, service_account="default/websites")
    """
    found: Rights = {}
    extra: list[Object] = []
    for controller in map(controller_of, controllers):
        for source in controller.sources:
            if isinstance(source, Watch) and not source.cluster:
                await _declared(source, controller, client, found, recorded)
        if recorded:
            for kind, subresource, verb in controller.accesses:
                await _allow(found, client, kind, subresource, _VERBS.get(verb, (verb,)))
        extra += [_plain(rule) for rule in controller.options.extra_rules]
    return [*_grouped(found), *(rule for rule in extra)]


async def _declared(source: Watch, controller: Controller, client: Client, found: Rights, recorded: bool) -> None:
    kind = kind_of(source.kind)
    own = controller.primary is not None and kind == controller.primary
    try:
        if recorded or not (own or isinstance(source, Owned)):
            await _allow(found, client, kind.gvk, "", READ)
            return
        await _allow(found, client, kind.gvk, "", WRITE if isinstance(source, Owned) else (*READ, "patch", "update"))
        if own:
            await _own(found, client, kind)
    except NoMatch:
        if not source.optional:
            raise


async def _own(found: Rights, client: Client, kind: KindRef) -> None:
    """Allows status updates, and updates of finalizers, which setting a blocking owner reference may require."""
    resource = await client.resource(kind)
    if "status" in resource.subresources or kind.cls is not None:
        await _allow(found, client, kind.gvk, "status", ("get", "patch", "update"))
    await _allow(found, client, kind.gvk, "finalizers", ("update",))


async def _allow(found: Rights, client: Client, kind: GroupVersionKind, subresource: str, verbs: Iterable[str]) -> None:
    plural = (await client.resource(kind)).plural
    found.setdefault((kind.group, f"{plural}/{subresource}" if subresource else plural), set()).update(verbs)


def _grouped(rights: Rights) -> list[Object]:
    """Converts permissions to rules: one for all resources of a group with the same verbs."""
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(rights.items()):
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
