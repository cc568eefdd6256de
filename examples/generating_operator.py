"""A generating handler: a RegistrationToken gives whoever has it the right to register, for a while.

It is what Rancher's Fleet does with wrangler for its ClusterRegistrationToken: an account, a role for it, and a Secret
with what a cluster needs to come in. Here that is one function from the token to these objects. They are made in one
go, what a changed token no longer has is deleted, and all of it goes when the token does.

`python examples/generating_operator.py` runs it in one process with a control plane of its own.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

import setpoint as sp
from setpoint.api.core.v1 import Secret, ServiceAccount
from setpoint.api.meta.v1 import Condition
from setpoint.api.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from setpoint.flow.generate.generator import GeneratingHandler
from setpoint.schema.types import ListMap, Minimum

GROUP = "fleet.example.com"
ACCOUNT_TOKEN = "kubernetes.io/service-account-token"


class TokenSpec(sp.Model):
    """What a token should be."""

    # Seconds for which it is good; nothing: for ever.
    ttl: Annotated[int, Minimum(1)] | None = None


class TokenStatus(sp.Model):
    """What a token is."""

    secret_name: str = ""
    expires: datetime | None = None
    observed_generation: int = 0
    conditions: Annotated[list[Condition], ListMap("type")] = msgspec.field(default_factory=list)


class RegistrationToken(sp.Resource, group=GROUP, version="v1"):
    """A token."""

    spec: TokenSpec
    status: TokenStatus | None = None


# The controller begins.


def registration(server: str, *, enforce_ttl: bool = False) -> GeneratingHandler:
    """The controller, for clusters that register at this address."""

    @sp.generates(
        RegistrationToken,
        kinds=[ServiceAccount, Secret, Role, RoleBinding],
        condition="Granted",
        extra_rules=[{"apiGroups": [GROUP], "resources": ["registrationtokens"], "verbs": ["delete"]}],
    )
    async def grant(
        ctx: sp.Context, token: RegistrationToken, status: TokenStatus
    ) -> AsyncIterator[sp.Resource | sp.Result]:
        if enforce_ttl and token.spec.ttl is None:
            raise sp.Fail("NoTTL", "say in spec.ttl how long it is good", terminal=True)
        made = token.metadata.creation_timestamp
        if token.spec.ttl is not None and made is not None:
            status.expires = made + timedelta(seconds=token.spec.ttl)
            left = (status.expires - ctx.clock.now()).total_seconds()
            if left <= 0:
                await ctx.client.delete(token)
                raise sp.Fail("Expired", terminal=True)
            yield sp.Result(requeue_after=left)
        account, role = sp.child(token, token.metadata.uid), sp.child(token, token.metadata.uid, "role")
        yield ServiceAccount(metadata=account)
        rule = PolicyRule(verbs=["create"], api_groups=[GROUP], resources=["clusterregistrations"])
        yield Role(metadata=role, rules=[rule])
        yield RoleBinding(
            metadata=sp.child(token, token.metadata.uid, "to-role"),
            subjects=[Subject(kind="ServiceAccount", name=account.name, namespace=account.namespace)],
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=role.name),
        )
        issued = sp.child(token, "account", annotations={"kubernetes.io/service-account.name": account.name})
        yield Secret(metadata=issued, type=ACCOUNT_TOKEN)
        filled = ctx.lookup(Secret, issued.name, issued.namespace)  # when the cluster fills it, this runs again
        status.secret_name = ""
        if filled is not None and "token" in filled.data:
            where, name = token.metadata.namespace, token.metadata.name
            values = {"clusterNamespace": where, "apiServerURL": server, "tokenName": name}
            text = msgspec.yaml.encode({**values, "token": bytes(filled.data["token"]).decode()})
            yield Secret(metadata=sp.child(token), type=f"{GROUP}/cluster-registration-values", data={"values": text})
            status.secret_name = name

    return grant


# The controller ends.


async def main() -> None:
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(RegistrationToken)
        async with sp.Manager(client, controllers=[registration("https://fleet.example.com")]):
            metadata = sp.ObjectMeta(name="import", namespace="default")
            await client.create(RegistrationToken(metadata=metadata, spec=TokenSpec(ttl=3600)))
            token = await client.wait_for(RegistrationToken, "import", "default", "jsonpath={.status.secretName}")
            assert token is not None
            values = await client.wait_for(Secret, "import", "default", "create")
            assert values is not None
            print("whoever registers is told:", ", ".join(msgspec.yaml.decode(values.data["values"])))

            accounts = [each.metadata.name for each in (await client.list(ServiceAccount, "default")).items]
            account = next(name for name in accounts if name.startswith("import-"))
            await client.delete(RegistrationToken, "import", "default")
            await client.wait_for(ServiceAccount, account, "default", "delete")
            await client.wait_for(Secret, "import", "default", "delete")
            print("with the token, all of it went")


if __name__ == "__main__":
    asyncio.run(main())
