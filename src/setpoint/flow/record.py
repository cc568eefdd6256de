"""The storage of a set's inventory: in its own ConfigMap, or in the status of the set's owner.

Every write is conditional on the version that was read; a set with an outdated inventory gets a Conflict and starts
again. The sets of a controller, which is the only writer, need not read their inventories again.
"""

from typing import NamedTuple, Protocol

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.patches import apply_configuration
from setpoint.controller.reconcile_client import Applied
from setpoint.flow.inventory import Inventory
from setpoint.flow.marks import OWNER_ANNOTATION, SET_LABEL, Owner
from setpoint.objects import meta, owners
from setpoint.objects.errors import AlreadyExists, Conflict, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

CONFIG_MAP = KindRef(GroupVersionKind("", "v1", "ConfigMap"))
# The label of ConfigMaps with inventories.
KIND_LABEL = "setpoint.dev/kind"
KIND = "apply-set-inventory"
_KEY = "inventory"
# The right to keep inventories, for controllers that do not own ConfigMaps.
INVENTORY_RULE: Object = {
    "apiGroups": [""],
    "resources": ["configmaps"],
    "verbs": ["create", "delete", "get", "update"],
}


class Record(Protocol):
    """The storage of one inventory."""

    async def read(self, client: Client) -> Inventory:
        """Returns the stored inventory; empty if there is none. Raises ValueError for an invalid one."""

    async def write(self, client: Client, inventory: Inventory, *, all_owned: bool) -> None:
        """Replaces the inventory. Raises Conflict.

        `all_owned` means that the garbage collector deletes all objects of the set with the owner.
        """

    async def remove(self, client: Client) -> None:
        """Deletes the inventory."""


class _RecordState(NamedTuple):
    """The ConfigMap as last read or written (None if missing), and its inventory."""

    config_map: Object | None
    inventory: Inventory


class ConfigMapRecord:
    """An inventory in a ConfigMap.

    The ConfigMap gets an owner reference only if the garbage collector deletes all objects of the set, too; otherwise
    the ConfigMap stays, so that sets without owners can be found. With `memory`, the ConfigMap is read once, and again
    after a conflict.
    """

    def __init__(
        self, set_id: str, namespace: str, owner: Object | None, manager: str, memory: Applied | None = None
    ) -> None:
        self.name, self.namespace = f"apply-set-{set_id}", namespace
        self._set_id = set_id
        self._owner = owner
        self._manager = manager
        self._memory = memory or Applied()
        self._found: Object | None = None
        self._inventory = Inventory()

    async def read(self, client: Client) -> Inventory:
        known: _RecordState | None = self._memory.get(self._cache_key)
        if known is not None:
            self._found, self._inventory = known
            return known.inventory
        try:
            found = await client.get(CONFIG_MAP, self.name, self.namespace)
        except NotFound:
            found = None
        self._cache_state(found, Inventory() if found is None else inventory_in(found))
        return self._inventory

    @property
    def _cache_key(self) -> tuple[str, ...]:
        return "inventory", self.namespace, self.name

    async def write(self, client: Client, inventory: Inventory, *, all_owned: bool) -> None:
        metadata: Object = {
            "name": self.name,
            "namespace": self.namespace,
            "labels": {KIND_LABEL: KIND, SET_LABEL: self._set_id},
        }
        if self._owner is not None:
            metadata["annotations"] = {OWNER_ANNOTATION: str(Owner.of(self._owner))}
            if all_owned and meta.namespace(self._owner) in ("", self.namespace):
                metadata["ownerReferences"] = [owners.owner_reference(self._owner)]
        text = msgspec.json.encode(inventory.to_json()).decode()
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEY: text}}
        before = self._inventory
        # The known version is outdated after a write, successful or not.
        self._memory.put(self._cache_key, None)
        try:
            found = await self._put(client, tree)
        except Conflict:
            # The known version may be outdated: if the inventory is the same, only the resource version differs.
            if await self.read(client) != before:
                raise
            found = await self._put(client, tree)
        self._cache_state(found, inventory)

    def _cache_state(self, found: Object | None, inventory: Inventory) -> None:
        self._found, self._inventory = found, inventory
        self._memory.put(self._cache_key, _RecordState(found, inventory))

    async def _put(self, client: Client, tree: Object) -> Object:
        if self._found is None:
            try:
                return await client.create(tree, field_manager=self._manager)
            except AlreadyExists as error:
                raise Conflict(f"the inventory {self.namespace}/{self.name} was created meanwhile") from error
        tree["metadata"]["resourceVersion"] = meta.resource_version(self._found)
        tree["metadata"]["uid"] = meta.uid(self._found)
        try:
            return await client.update(tree, field_manager=self._manager)
        except NotFound as error:
            raise Conflict(f"the inventory {self.namespace}/{self.name} was deleted meanwhile") from error

    async def remove(self, client: Client) -> None:
        self._memory.put(self._cache_key, None)
        if self._found is not None:
            found, self._found = self._found, None
            try:
                await client.delete(CONFIG_MAP, self.name, self.namespace, uid=meta.uid(found))
            except (NotFound, Conflict):
                return


def inventory_in(config_map: Object) -> Inventory:
    """Returns the inventory in a ConfigMap. Raises ValueError."""
    where = meta.key(config_map)
    try:
        return Inventory.from_json(msgspec.json.decode((config_map.get("data") or {}).get(_KEY, "null")))
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(
            f"cannot read the inventory in ConfigMap {where} ({error}): repair or delete the ConfigMap"
        ) from None


class StatusRecord:
    """An inventory in a field of the owner's status, which the schema of the kind must have: a list of objects."""

    def __init__(self, owner: Object, manager: str, field: str = "inventory") -> None:
        self._owner = owner
        self._version = meta.resource_version(owner)
        self._manager = f"{manager}-inventory"
        self._field = field

    async def read(self, client: Client) -> Inventory:
        return Inventory.from_json((self._owner.get("status") or {}).get(self._field) or [])

    async def write(self, client: Client, inventory: Inventory, *, all_owned: bool) -> None:
        gvk = GroupVersionKind.of(self._owner)
        name, namespace = meta.name(self._owner), meta.namespace(self._owner)
        tree = {
            "apiVersion": gvk.api_version,
            "kind": gvk.kind,
            "metadata": {"name": name, "namespace": namespace, "resourceVersion": self._version},
            "status": {self._field: inventory.to_json()},
        }
        patch = apply_configuration(tree)
        found = await client.patch_status(KindRef(gvk), patch, name, namespace, field_manager=self._manager)
        if self._field not in (found.get("status") or {}):
            raise ValueError(f"{gvk.kind} has no field status.{self._field}: add the field to its schema")
        self._owner, self._version = found, meta.resource_version(found)

    async def remove(self, client: Client) -> None:
        try:
            await self.write(client, Inventory(), all_owned=True)
        except NotFound:
            return
