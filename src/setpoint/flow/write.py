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

STATUS = "status"


async def write(client: Client, step: PlanStep, manager: str) -> Object:
    """Creates or updates the object of a step, and then its status. Raises the server's error."""
    if step.status_only and step.live is not None:
        return await _write_status(client, step, step.live, step.only_version, manager)
    found = await _write_object(client, step, manager)
    if step.status is None:
        return found
    return await _write_status(client, step, found, meta.resource_version(found) if step.how.lock else "", manager)


async def _write_status(client: Client, step: PlanStep, found: Object, only_version: str, manager: str) -> Object:
    """Writes the status of an existing object in the mode of the object."""
    kind, (_, _, namespace, name) = KindRef(step.gvk), step.identity
    mode = step.how.mode or Mode.APPLY
    if mode is Mode.UPDATE:
        tree: Object = thaw({**found, "status": step.status})
        tree["metadata"].pop("managedFields", None)
        if only_version:
            tree["metadata"]["resourceVersion"] = only_version
        return await client.update(tree, subresource=STATUS, field_manager=manager)
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": meta.uid(found)}
    if only_version:
        metadata["resourceVersion"] = only_version
    tree = {"apiVersion": step.gvk.api_version, "kind": step.gvk.kind, "metadata": metadata, "status": step.status}
    patch = apply_configuration(tree) if mode is Mode.APPLY else merge(tree)
    force = mode is Mode.APPLY and bool(step.how.force)
    written: Object = await client.patch(
        kind, patch, name, namespace, subresource=STATUS, force=force, field_manager=manager
    )
    return written


async def _write_object(client: Client, step: PlanStep, manager: str) -> Object:
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
    if step.only_version:
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
