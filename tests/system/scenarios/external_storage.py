"""A provisioner and a resizer beside Kubernetes' own components: they do the work of the simulated provisioner, by
polling, and with the same volumes."""

import asyncio
from contextlib import suppress

from setpoint.client.client import Client
from setpoint.objects.errors import AlreadyExists, APIError
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.simulated_storage import SIMULATED, provisioned_volume
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    CLASS,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    VOLUME,
    annotations_of,
    capacity,
    class_of,
    is_delayed,
    phase_of,
    requested,
)

_POLL_SECONDS = 0.2


async def serve_storage(client: Client, namespace: str) -> None:
    """Provisions, enlarges and deletes volumes until cancelled."""
    while True:
        with suppress(APIError):
            classes = {each["metadata"]["name"]: each for each in (await client.list(CLASS)).items}
            volumes = {each["metadata"]["name"]: each for each in (await client.list(VOLUME)).items}
            for claim in (await client.list(CLAIM, namespace)).items:
                await _serve(client, claim, classes, volumes)
            for volume in volumes.values():
                if _is_ours(volume) and phase_of(volume) == "Released":
                    await _delete(client, volume)
        await asyncio.sleep(_POLL_SECONDS)


async def _serve(client: Client, claim: Object, classes: dict[str, Object], volumes: dict[str, Object]) -> None:
    name, annotations = claim["spec"].get("volumeName"), annotations_of(claim)
    storage_class = classes.get(class_of(claim))
    if not name and annotations.get(PROVISIONER) == SIMULATED and storage_class is not None:
        selected = annotations.get(SELECTED_NODE)
        if not is_delayed(storage_class) or selected:
            node = await client.get("v1/Node", selected) if selected else None
            with suppress(AlreadyExists):
                await client.create(provisioned_volume(claim, storage_class, node))
    volume = volumes.get(name or "")
    if volume is not None and _is_ours(volume) and phase_of(claim) == "Bound" and capacity(volume) < requested(claim):
        size = {"storage": claim["spec"]["resources"]["requests"]["storage"]}
        await client.update({**volume, "spec": {**volume["spec"], "capacity": size}})
        await client.update({**claim, "status": {**claim["status"], "capacity": size}}, subresource="status")


def _is_ours(volume: Object) -> bool:
    return annotations_of(volume).get(PROVISIONED_BY) == SIMULATED


async def _delete(client: Client, volume: Object) -> None:
    if volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete" and not volume["metadata"].get("deletionTimestamp"):
        await client.delete(VOLUME, volume["metadata"]["name"])
