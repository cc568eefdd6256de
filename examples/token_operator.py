"""An operator as a state machine: an AccessToken is a bearer token that may do exactly what it says, and no more.

It is achilles' own sample, on ours: a service account and the Secret with its token, a role and a binding in every
namespace that is named, and for the whole cluster where that is asked for. Outputs that lie elsewhere cannot have an
owner reference, and a permission that is taken out of the spec has to go: both are the machine's business, not ours.

`python examples/token_operator.py` runs it in one process with a control plane of its own.
"""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

import setpoint as sp
from setpoint.api.core.v1 import Secret, ServiceAccount
from setpoint.api.meta.v1 import Condition
from setpoint.api.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject
from setpoint.schema.types import ListMap

GROUP = "rbac.authorization.k8s.io"


class NamespacePermissions(sp.Model):
    """What the token may do in a namespace."""

    namespace: str
    rules: list[PolicyRule]


class ClusterPermissions(sp.Model):
    """What the token may do everywhere."""

    rules: list[PolicyRule]


class AccessTokenSpec(sp.Model):
    """What a token may do."""

    namespaced_permissions: list[NamespacePermissions] = msgspec.field(default_factory=list)
    cluster_permissions: ClusterPermissions | None = None


class AccessTokenStatus(sp.Model):
    """Where the token is."""

    token_secret_ref: str = ""
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


class AccessToken(sp.Resource, group="group.example.com", version="v1alpha1"):
    """A bearer token with permissions."""

    spec: AccessTokenSpec
    status: AccessTokenStatus | None = None


fsm = sp.FSM(AccessToken)


@fsm.state("TokenProvisioned", message="the token is in the Secret that status.tokenSecretRef names")
async def token_provisioned(ctx: sp.Context, token: AccessToken, out: sp.Outputs) -> sp.Next:
    meta = sp.ObjectMeta(name=token.metadata.name, namespace=token.metadata.namespace)
    out.apply(ServiceAccount(metadata=meta))
    note = {"kubernetes.io/service-account.name": meta.name}
    secret = sp.ObjectMeta(name=meta.name, namespace=meta.namespace, annotations=note)
    out.apply(Secret(metadata=secret, type="kubernetes.io/service-account-token"))
    assert token.status is not None
    token.status.token_secret_ref = meta.name
    return permissions_granted


@fsm.state("PermissionsGranted")
async def permissions_granted(ctx: sp.Context, token: AccessToken, out: sp.Outputs) -> sp.Next:
    out.apply(*permissions_of(token))
    return sp.Done()


def permissions_of(token: AccessToken) -> Iterator[sp.Resource]:
    name, home = token.metadata.name, token.metadata.namespace
    subjects = [Subject(kind="ServiceAccount", name=name, namespace=home)]
    for each in token.spec.namespaced_permissions:
        meta = sp.ObjectMeta(name=name, namespace=each.namespace)
        yield Role(metadata=meta, rules=each.rules)
        reference = RoleRef(api_group=GROUP, kind="Role", name=name)
        yield RoleBinding(metadata=meta, role_ref=reference, subjects=subjects)
    if token.spec.cluster_permissions is not None:
        # What lives in no namespace has the namespace in its name, so that tokens of one name do not meet there.
        meta = sp.ObjectMeta(name=f"{name}-{home}")
        yield ClusterRole(metadata=meta, rules=token.spec.cluster_permissions.rules)
        reference = RoleRef(api_group=GROUP, kind="ClusterRole", name=meta.name)
        yield ClusterRoleBinding(metadata=meta, role_ref=reference, subjects=subjects)


OUTPUTS = [ServiceAccount, Secret, Role, RoleBinding, ClusterRole, ClusterRoleBinding]


def rule(resource: str, *verbs: str) -> PolicyRule:
    return PolicyRule(api_groups=[""], resources=[resource], verbs=list(verbs))


async def roles(client: sp.Client) -> list[str]:
    """Where there are roles of the token."""
    found: Any = [*(await client.list(Role)).items, *(await client.list(ClusterRole)).items]
    mine = [each.metadata for each in found if each.metadata.name in ("deploy", "deploy-default")]
    return sorted(each.namespace or "everywhere" for each in mine)


async def main() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(AccessToken)
        async with sp.Manager(client, controllers=[fsm.controller(owns=OUTPUTS)]):
            spec = AccessTokenSpec(
                namespaced_permissions=[
                    NamespacePermissions(namespace="default", rules=[rule("configmaps", "*")]),
                    NamespacePermissions(namespace="kube-system", rules=[rule("configmaps", "get", "list")]),
                ],
                cluster_permissions=ClusterPermissions(rules=[rule("namespaces", "list")]),
            )
            token = AccessToken(metadata=sp.ObjectMeta(name="deploy", namespace="default"), spec=spec)
            await client.create(token)
            await client.wait_for(AccessToken, "deploy", "default", "condition=Ready")
            print(f"roles: {', '.join(await roles(client))}")
            await client.wait_for(
                Secret, "deploy", "default", lambda each: bool(each and (each.data or {}).get("token"))
            )
            print("the Secret has a token")

            def restrict(found: AccessToken) -> None:
                found.spec.namespaced_permissions.pop()
                found.spec.cluster_permissions = None

            await client.edit(AccessToken, "deploy", "default", restrict)
            await client.wait_for(ClusterRole, "deploy-default", "", "delete")
            await client.wait_for(Role, "deploy", "kube-system", "delete")
            print(f"after the change: {', '.join(await roles(client))}")

            await client.delete(AccessToken, "deploy", "default")
            await client.wait_for(AccessToken, "deploy", "default", "delete")
            await client.wait_for(Role, "deploy", "default", "delete")
            print("all of it is gone")


if __name__ == "__main__":
    asyncio.run(main())
