"""Maintains the phases of volumes, offers available ones to waiting claims, and reclaims volumes without a claim."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.binding_writes import set_volume_phase, unbind
from setpoint.system.persistentvolume.storage_state import (
    BIND_COMPLETED,
    CLAIM,
    CLAIMS,
    CLASS,
    PROVISIONED_BY,
    VOLUME,
    annotations_of,
    claim_of,
    claim_values,
    class_of,
    is_delayed,
    phase_of,
)
from setpoint.system.persistentvolume.volume_match import best_volume, has_other_mode
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

_RELEASED, _FAILED = "Released", "Failed"


class VolumeBinder:
    """Reconciles volumes. `offer` is called with a claim that a volume suits, and the volume; `wake` with a claim to
    reconcile."""

    def __init__(
        self, recorder: "Recorder", offer: Callable[[Request, Request], None], wake: Callable[[Request], None]
    ) -> None:
        self._recorder = recorder
        self._offer = offer
        self._wake = wake

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Takes the next steps of a volume."""
        volume: Object | None = await ctx.client.find(VOLUME, request.name)
        if volume is None:
            return
        reference = claim_of(volume)
        if not reference.get("uid"):
            volume = await set_volume_phase(ctx, volume, "Available")
            if not reference:
                await self._find_claim(ctx, request, volume)
            return
        claim = await _claim(ctx, reference)
        if claim is None:
            await self._release(ctx, volume)
        elif not claim["spec"].get("volumeName"):
            self._continue(volume, claim)
        elif claim["spec"]["volumeName"] == request.name:
            await set_volume_phase(ctx, volume, "Bound")
        elif PROVISIONED_BY in annotations_of(volume) and _policy(volume) == "Delete":
            # The claim was bound to another volume while this one was provisioned.
            await self._release(ctx, volume)
        else:
            await unbind(ctx, volume)

    async def _find_claim(self, ctx: Context[Any], request: Request, volume: Object) -> None:
        """Offers an available volume to the first waiting claim that the volume suits. Claims with delayed binding wait
        for the scheduler."""
        name = class_of(volume)
        if name and is_delayed(await ctx.client.find(CLASS, name)):
            return
        waiting = await ctx.client.cache.by_index(CLAIM, CLAIMS, claim_values, (("class", name),))
        async for entry in in_turns(ctx, waiting):
            claim = entry.object
            if BIND_COMPLETED not in annotations_of(claim) and best_volume(claim, (volume,)) is not None:
                self._offer(Request(entry.meta.name, entry.meta.namespace), request)
                return

    def _continue(self, volume: Object, claim: Object) -> None:
        """Lets an incomplete binding continue, unless the modes of both differ."""
        claim_name, name = claim["metadata"]["name"], volume["metadata"]["name"]
        if has_other_mode(volume, claim):
            text = "Cannot bind PersistentVolume {} due to incompatible volumeMode."
            about = text.format(f'to requested PersistentVolumeClaim "{claim_name}"')
            self._recorder.warning(volume, "VolumeMismatch", about)
            self._recorder.warning(claim, "VolumeMismatch", text.format(f'"{name}" to requested PersistentVolumeClaim'))
            return
        self._wake(Request(claim_name, claim["metadata"]["namespace"]))

    async def _release(self, ctx: Context[Any], volume: Object) -> None:
        """Marks a volume as released, and applies its reclaim policy. Provisioners delete their own volumes."""
        if phase_of(volume) not in (_RELEASED, _FAILED):
            volume = await set_volume_phase(ctx, volume, _RELEASED)
        policy = _policy(volume)
        if policy == "Retain":
            return
        if policy == "Recycle":
            await self._fail(ctx, volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
            return
        problem = _deletion_problem(volume)
        if problem:
            await self._fail(ctx, volume, "VolumeFailedDelete", problem)
        elif not _is_external(volume) and not volume["metadata"].get("deletionTimestamp"):
            await delete_volume(ctx, volume)

    async def _fail(self, ctx: Context[Any], volume: Object, reason: str, text: str) -> None:
        if phase_of(volume) != _FAILED:
            await set_volume_phase(ctx, volume, _FAILED, text)
            self._recorder.warning(volume, reason, text)


async def delete_volume(ctx: Context[Any], volume: Object) -> None:
    """Deletes a released volume, unless replaced meanwhile."""
    metadata = volume["metadata"]
    try:
        await ctx.api.delete(
            VOLUME, metadata["name"], uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
    except NotFound:
        return


async def _claim(ctx: Context[Any], reference: Object) -> Object | None:
    """Returns the claim of a volume. A missing claim is confirmed by the server, because the cache may be stale."""
    name, namespace = reference["name"], reference["namespace"]
    found: Object | None = await ctx.client.find(CLAIM, name, namespace)
    if found is not None and found["metadata"]["uid"] == reference["uid"]:
        return found
    try:
        found = await ctx.api.get(CLAIM, name, namespace)
    except NotFound:
        return None
    return found if found["metadata"]["uid"] == reference["uid"] else None


def _policy(volume: Object) -> str:
    found: str = volume["spec"].get("persistentVolumeReclaimPolicy") or "Retain"
    return found


def _is_external(volume: Object) -> bool:
    """Returns True for volumes that a program outside of this controller deletes."""
    return bool(annotations_of(volume).get(PROVISIONED_BY)) or "csi" in volume["spec"]


def _deletion_problem(volume: Object) -> str:
    """Returns the reason why a volume cannot be deleted; empty if the volume can be deleted. Only the directories of
    nodes are known to be deletable, and only temporary ones; no file is deleted."""
    if _is_external(volume):
        return ""
    spec, name = volume["spec"], volume["metadata"]["name"]
    if "hostPath" not in spec:
        kind = "deletable volume plugin" if "nfs" in spec else "volume plugin"
        return f'error getting deleter volume plugin for volume "{name}": no {kind} matched'
    path = spec["hostPath"]["path"]
    if path.startswith("/tmp/") and len(path) > len("/tmp/"):
        return ""
    return f"host_path deleter only supports /tmp/.+ but received provided {path}"
