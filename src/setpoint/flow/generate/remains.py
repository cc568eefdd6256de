"""The remaining children of a deleted parent: those that the garbage collector does not delete.

The inventory lists them and stays until they are deleted, so that any later process finds the inventory, even after a
crash. Children with an owner reference are left to the garbage collector, also if they are to be orphaned.
"""

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.controller.context import Context
from setpoint.flow.inventory import Identity, Inventory
from setpoint.flow.marks import Owner
from setpoint.flow.record import CONFIG_MAP, KIND, KIND_LABEL, ConfigMapRecord
from setpoint.objects import meta
from setpoint.objects.errors import NotFound

INVENTORIES = {KIND_LABEL: KIND}


class Unowned:
    """The inventory of a set without the objects that the garbage collector deletes with the owner."""

    def __init__(self, record: ConfigMapRecord, owner: Owner, *, owner_references: bool) -> None:
        self._record, self._owner, self._references = record, owner, owner_references

    def _is_garbage_collected(self, identity: Identity) -> bool:
        return self._references and self._owner.namespace in ("", identity.namespace)

    async def read(self, client: Client) -> Inventory:
        found = await self._record.read(client)
        return found.without([identity for identity in found if self._is_garbage_collected(identity)])

    async def write(self, client: Client, inventory: Inventory, *, all_owned: bool) -> None:
        await self._record.write(client, inventory, all_owned=all_owned)

    async def remove(self, client: Client) -> None:
        await self._record.remove(client)


async def has_remains(ctx: Context, record: ConfigMapRecord, owner: Owner) -> bool:
    """Returns True if a deleted owner has left an inventory that the garbage collector does not delete.

    The cache does not have the owner; the server is asked to confirm the deletion. An existing owner will be
    reconciled.
    """
    found = await ctx.client.find(CONFIG_MAP, record.name, record.namespace, labels=INVENTORIES)
    if found is None or meta.owner_references(found):
        return False
    try:
        await ctx.api.get(KindRef(owner.gvk), owner.name, owner.namespace)
    except NotFound:
        return True
    return False
