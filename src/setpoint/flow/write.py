"""Converts a step of a plan to requests. Returns the object as stored by the server; the input is not changed."""

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import KindRef
from setpoint.client.patches import apply_configuration, merge
from setpoint.flow.inventory import InventoryEntry
from setpoint.flow.plan import Action, PlanStep, merged, replaced
from setpoint.flow.policy import Mode
from setpoint.objects import meta
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object


async def write(client: Client, step: PlanStep, manager: str) -> Object:
    """Creates or updates the object of a step. Raises the server's error."""
    wanted, mode = step.wanted or {}, step.how.mode or Mode.APPLY
    if mode is Mode.APPLY:
        return await _apply(client, step, wanted, manager)
    if step.action in (Action.CREATE, Action.REPLACE) or step.live is None:
        return await client.create(wanted, field_manager=manager)
    if mode is Mode.UPDATE:
        tree: Object = thaw(replaced(wanted, step.live))
        tree["metadata"].pop("managedFields", None)
        if step.only_version:
            tree["metadata"]["resourceVersion"] = step.only_version
        return await client.update(tree, field_manager=manager)
    patch = merged(wanted, step.live)
    # Ensures that the object is the same, not a new one of the same name.
    sure = {"uid": meta.uid(step.live)}
    if step.only_version:
        sure["resourceVersion"] = step.only_version
    patch = {**patch, "metadata": {**patch["metadata"], **sure}}
    return await _patched(client, step, msgspec.json.encode(patch), manager)


async def _patched(client: Client, step: PlanStep, body: bytes, manager: str) -> Object:
    identity, patch = step.identity, merge({})._replace(body=body, is_empty=False)
    found: Object = await client.patch(
        KindRef(step.gvk), patch, identity.name, identity.namespace, field_manager=manager
    )
    return found


async def _apply(client: Client, step: PlanStep, wanted: Object, manager: str) -> Object:
    force = bool(step.how.force)
    if step.only_version and step.live is not None:
        wanted = {**wanted, "metadata": {**wanted["metadata"], "resourceVersion": step.only_version}}
    # A patch and not `apply`, because the plan has decided about objects of other owners.
    identity = step.identity
    found: Object = await client.patch(
        KindRef(step.gvk),
        apply_configuration(wanted),
        identity.name,
        identity.namespace,
        force=force,
        field_manager=manager,
    )
    return found


async def delete(client: Client, entry: InventoryEntry, uid: str, propagation: str) -> bool:
    """Deletes exactly the object with that UID. Returns True if deleted; False if terminating."""
    identity, kind = entry.identity, KindRef(entry.gvk)
    try:
        answer = await client.delete(kind, identity.name, identity.namespace, uid=uid, propagation=propagation)
        return not meta.is_being_deleted(answer)
    except NotFound:
        return True
    except Conflict:
        try:
            found = await client.get(kind, identity.name, identity.namespace)
        except NotFound:
            return True
        if meta.uid(found) == uid:
            raise  # the object exists, and the conflict has another cause
        # Another object has the name: the original is deleted.
        return True
