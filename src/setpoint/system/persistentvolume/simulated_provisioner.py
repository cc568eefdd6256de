"""The simulated provisioner: creates the volumes of its claims, and deletes released volumes, as a provisioner
outside of Kubernetes does."""

from typing import TYPE_CHECKING, Any

from setpoint.cache.change import Change
from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.objects.errors import AlreadyExists
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.simulated_storage import SIMULATED, provisioned_volume, volume_name
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    CLASS,
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    VOLUME,
    annotations_of,
    class_of,
    is_delayed,
    key_of,
    phase_of,
)
from setpoint.system.persistentvolume.volume_binder import delete_volume

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

NODE = "v1/Node"


def needs_volume(change: Change[Any]) -> bool:
    """Returns True for a claim that waits for a volume of this provisioner."""
    return change.new is not None and _is_waiting(change.new.object)


def is_released(change: Change[Any]) -> bool:
    """Returns True for a volume that this provisioner has to delete."""
    return change.new is not None and _is_deletable(change.new.object)


def _is_waiting(claim: Object) -> bool:
    return annotations_of(claim).get(PROVISIONER) == SIMULATED and not claim["spec"].get("volumeName")


def _is_deletable(volume: Object) -> bool:
    return (
        annotations_of(volume).get(PROVISIONED_BY) == SIMULATED
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and phase_of(volume) in ("Released", "Failed")
        and not volume["metadata"].get("deletionTimestamp")
    )


class SimulatedProvisioner:
    """Reconciles the claims and the volumes of the simulated provisioner."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def provision(self, ctx: Context[Any], request: Request) -> None:
        """Creates the volume of a claim."""
        claim: Object | None = await ctx.client.find(CLAIM, request.name, request.namespace)
        if claim is None or not _is_waiting(claim):
            return
        storage_class: Object | None = await ctx.client.find(CLASS, class_of(claim))
        if storage_class is None or storage_class["provisioner"] != SIMULATED:
            return
        selected = annotations_of(claim).get(SELECTED_NODE)
        if is_delayed(storage_class) and not selected:
            return
        if await ctx.client.find(VOLUME, volume_name(claim)) is not None:
            return  # the binder binds the claim to the volume
        text = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
        self._recorder.normal(claim, "Provisioning", text)
        if claim["spec"].get("selector"):
            about = f'failed to provision volume with StorageClass "{class_of(claim)}"'
            self._recorder.warning(claim, "ProvisioningFailed", f"{about}: claim Selector is not supported")
            return
        node = await ctx.client.find(NODE, selected) if selected else None
        try:
            await ctx.api.create(provisioned_volume(claim, storage_class, node))
        except AlreadyExists:
            return
        self._recorder.normal(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {volume_name(claim)}")

    async def delete(self, ctx: Context[Any], request: Request) -> None:
        """Deletes a released volume."""
        volume: Object | None = await ctx.client.find(VOLUME, request.name)
        if volume is not None and _is_deletable(volume):
            await delete_volume(ctx, volume)
