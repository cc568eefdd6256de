"""The rights that controllers need, as RBAC: from what they declare, or from what they were seen to do.

What they declare is what they may do: of their own kind read, write, and report the status; of what they own
everything; of what they watch and look up, read. What they were seen to do is less, and true only of the run that was
watched: a test that covers all they do gives the smallest role there is.
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
# As RBAC says it.
_VERBS = {"apply": ("patch", "create")}

# The verbs by group, resource (with its subresource) and names.
Rights = dict[tuple[str, str], set[str]]


async def rules(controllers: Iterable[object], client: Client, *, recorded: bool = False) -> list[Object]:
    """The rules that controllers, or what is declared as one, need: by what they declare, or, `recorded`, by what they
    were seen to do.

    The server says what the resources of the kinds are called. Raises NoMatch for a kind that it does not have.
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
    """What it takes to report on an object, and to own others in its name where owners must be asked."""
    resource = await client.resource(kind)
    if "status" in resource.subresources or kind.cls is not None:
        await _allow(found, client, kind.gvk, "status", ("get", "patch", "update"))
    await _allow(found, client, kind.gvk, "finalizers", ("update",))


async def _allow(found: Rights, client: Client, kind: GroupVersionKind, subresource: str, verbs: Iterable[str]) -> None:
    plural = (await client.resource(kind)).plural
    found.setdefault((kind.group, f"{plural}/{subresource}" if subresource else plural), set()).update(verbs)


def _grouped(rights: Rights) -> list[Object]:
    """The rights as rules: one for the resources of a group that have the same verbs."""
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
    """The objects that give the rules to a service account (`namespace/name`): a ClusterRole and its binding, or a Role
    and its binding in each of the namespaces. Without an account there are only the roles."""
    account_namespace, slash, account = service_account.partition("/")
    if service_account and not (slash and account and account_namespace):
        raise ValueError(f"{service_account!r} names no service account: write NAMESPACE/NAME")
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
