"""What is left of a parent that is gone: the children that no owner reference could take along.

The inventory knows them, and it stays until they are gone, too; whoever starts later, after any crash, finds it. What
could have an owner reference is left to the garbage collector, and to whoever told it to orphan.
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
    """The inventory of a set without what goes with its owner by reference."""

    def __init__(self, record: ConfigMapRecord, owner: Owner, *, owner_references: bool) -> None:
        self._record, self._owner, self._references = record, owner, owner_references

    def _goes_along(self, identity: Identity) -> bool:
        return self._references and self._owner.namespace in ("", identity.namespace)

    async def read(self, client: Client) -> Inventory:
        found = await self._record.read(client)
        return found.without([identity for identity in found if self._goes_along(identity)])

    async def write(self, client: Client, inventory: Inventory, *, all_owned: bool) -> None:
        await self._record.write(client, inventory, all_owned=all_owned)

    async def remove(self, client: Client) -> None:
        await self._record.remove(client)


async def are_there(ctx: Context, record: ConfigMapRecord, owner: Owner) -> bool:
    """Whether something is left of an owner that the cache does not have: an inventory that does not go by itself, and,
    as the server says, no owner. One that is there all the same will be heard of."""
    found = await ctx.client.find(CONFIG_MAP, record.name, record.namespace, labels=INVENTORIES)
    if found is None or meta.owner_references(found):
        return False
    try:
        await ctx.api.get(KindRef(owner.gvk), owner.name, owner.namespace)
    except NotFound:
        return True
    return False
