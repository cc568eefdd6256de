"""Sets without an owner: the owner was deleted, and the garbage collector did not delete the objects."""

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef, tree_of
from setpoint.flow.apply_set import ApplySet
from setpoint.flow.marks import Owner, find_owner, set_of
from setpoint.flow.record import CONFIG_MAP, KIND, KIND_LABEL
from setpoint.objects import meta
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object

# A UID that no object has, for a deleted owner.
_NOBODY = "00000000-0000-0000-0000-000000000000"


async def purge_orphans(client: Client, namespace: str = "", *, field_manager: str) -> list[str]:
    """Deletes sets with a deleted owner, in one namespace or all. Returns the IDs of these sets.

    await purge_orphans(client, field_manager="teams")
    """
    purged = []
    for found in (await client.list(CONFIG_MAP, namespace, labels={KIND_LABEL: KIND})).items:
        tree = tree_of(found)
        owner, own_id = find_owner(tree), set_of(tree)
        if owner is None or not own_id:
            continue
        try:
            await client.get(KindRef(owner.gvk), owner.name, owner.namespace)
        except NotFound:
            pass
        else:
            continue
        name = own_id.rpartition("-")[0]
        await ApplySet(
            client, name, owner=placeholder_owner(owner), namespace=meta.namespace(tree), field_manager=field_manager
        ).delete()
        purged.append(own_id)
    return purged


def placeholder_owner(owner: Owner) -> Object:
    """Returns a substitute for a deleted owner, to identify its set."""
    return {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "metadata": {"name": owner.name, "namespace": owner.namespace, "uid": _NOBODY},
    }
