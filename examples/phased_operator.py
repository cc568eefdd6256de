"""An operator in phases: storage that is encrypted with a key of one's own, in a cloud that takes its time.

A storage account is made, and gets an identity after a while; the identity may use the key of a vault; then the account
is told to encrypt with it. Each phase is a state of a machine with a condition of its own. Where it stands is stored
nowhere: every reconcile begins with the first phase, passes what is done already, and stops where it has to wait.

`python examples/phased_operator.py` runs it in one process with a control plane of its own.
"""

import asyncio
from typing import Any

import msgspec

import setpoint as sp

FINALIZER = "cloud.example.com/secure-storage"


class Cloud:
    """The provider: accounts with an identity that comes later, and vaults that know who may use their keys."""

    def __init__(self) -> None:
        self.identities: dict[str, str] = {}
        self.may_use: dict[str, set[str]] = {}
        self.encrypted: dict[str, str] = {}
        self.calls: list[str] = []

    async def ensure_account(self, name: str) -> str:
        """Makes an account, where there is none. Returns its identity, or nothing yet."""
        if name not in self.identities:
            self.calls.append(f"create {name}")
            self.identities[name] = ""
        return self.identities[name]

    async def grant(self, vault: str, identity: str) -> None:
        self.calls.append(f"grant {vault} {identity}")
        self.may_use.setdefault(vault, set()).add(identity)

    async def encrypt(self, name: str, vault: str) -> None:
        if self.identities[name] not in self.may_use.get(vault, ()):
            raise PermissionError(f"{name} may not use the key of {vault}")
        self.calls.append(f"encrypt {name}")
        self.encrypted[name] = vault

    async def delete_account(self, name: str) -> None:
        self.encrypted.pop(name, None)
        identity = self.identities.pop(name, "")
        for users in self.may_use.values():
            users.discard(identity)


class StorageSpec(sp.Model):
    """What secure storage should be."""

    vault: str


class StorageStatus(sp.Model):
    """What secure storage is."""

    principal_id: str = ""
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class SecureStorage(sp.Resource, group="cloud.example.com", version="v1"):
    """Storage with a key of one's own."""

    spec: StorageSpec
    status: StorageStatus | None = None


def secure_storage(cloud: Cloud) -> sp.FSM:
    """The machine, for a cloud."""
    fsm = sp.FSM(SecureStorage, finalizer=FINALIZER)

    @fsm.state("IdentityAssigned")
    async def identity(ctx: sp.Context, storage: SecureStorage, out: sp.Outputs) -> sp.Next:
        principal = await cloud.ensure_account(storage.metadata.name)
        if not principal:
            return sp.Wait(30, reason="IdentityPending", message="the account is there, its identity is not")
        assert storage.status is not None
        storage.status.principal_id = principal
        return access

    @fsm.state("KeyGranted")
    async def access(ctx: sp.Context, storage: SecureStorage, out: sp.Outputs) -> sp.Next:
        principal = cloud.identities[storage.metadata.name]
        if principal not in cloud.may_use.get(storage.spec.vault, ()):
            await cloud.grant(storage.spec.vault, principal)
        return encryption

    @fsm.state("Encrypted")
    async def encryption(ctx: sp.Context, storage: SecureStorage, out: sp.Outputs) -> sp.Next:
        if cloud.encrypted.get(storage.metadata.name) != storage.spec.vault:
            await cloud.encrypt(storage.metadata.name, storage.spec.vault)
        return sp.Done(requeue_after=600)  # nobody tells when something changes there

    @fsm.finalize("AccountDeleted")
    async def clean_up(ctx: sp.Context, storage: SecureStorage, out: sp.Outputs) -> sp.Next:
        await cloud.delete_account(storage.metadata.name)
        return sp.Done()

    return fsm


async def main() -> None:
    cloud = Cloud()
    async with sp.ControlPlane() as plane, plane.client() as client:
        await client.install(SecureStorage)
        controller = secure_storage(cloud).controller()
        async with sp.Manager(client, controllers=[controller]):
            metadata = sp.ObjectMeta(name="photos", namespace="default")
            await client.create(SecureStorage(metadata=metadata, spec=StorageSpec(vault="keys")))
            await client.wait_for(SecureStorage, "photos", "default", "condition=IdentityAssigned=False")
            print("waiting, after:", ", ".join(cloud.calls))

            cloud.identities["photos"] = "principal-1"
            controller.enqueue(sp.Request("photos", "default"))  # or half a minute later
            await client.wait_for(SecureStorage, "photos", "default", "condition=Ready")
            print("ready, after:", ", ".join(cloud.calls))

            await client.delete(SecureStorage, "photos", "default")
            await client.wait_for(SecureStorage, "photos", "default", "delete")
            print("gone, and the cloud has:", cloud.identities)


if __name__ == "__main__":
    asyncio.run(main())
