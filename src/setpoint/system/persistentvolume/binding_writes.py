"""The writes of a binding. The volume is written before its claim, each with its phase, so that an interrupted binding
is continued by the next reconcile of the claim."""

from typing import Any

from setpoint.controller.context import Context
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    annotations_of,
    claim_of,
    phase_of,
    with_annotations,
    with_claim,
)


async def bind(ctx: Context[Any], volume: Object, claim: Object) -> None:
    """Binds a volume and a claim to each other. Fields that are right already are not written."""
    bound = with_claim(volume, claim)
    if bound is not volume:
        bound = await ctx.client.update(bound)
    volume = await set_volume_phase(ctx, bound, "Bound")
    name, changed = volume["metadata"]["name"], claim
    if claim["spec"].get("volumeName") != name:
        changed = {**claim, "spec": {**claim["spec"], "volumeName": name}}
        changed = with_annotations(
            changed, {BOUND_BY_CONTROLLER: annotations_of(claim).get(BOUND_BY_CONTROLLER, "yes")}
        )
    if BIND_COMPLETED not in annotations_of(claim):
        changed = with_annotations(changed, {BIND_COMPLETED: "yes"})
    if changed is not claim:
        changed = await ctx.client.update(changed)
    await set_claim_phase(ctx, changed, "Bound", volume)


async def unbind(ctx: Context[Any], volume: Object) -> None:
    """Makes the volume of a claim with another volume available again. A volume that an administrator has reserved
    stays reserved for the name of the claim."""
    spec = dict(volume["spec"])
    if BOUND_BY_CONTROLLER in annotations_of(volume):
        del spec["claimRef"]
    else:
        spec["claimRef"] = {name: value for name, value in claim_of(volume).items() if name != "uid"}
    free = with_annotations({**volume, "spec": spec}, {BOUND_BY_CONTROLLER: None})
    await set_volume_phase(ctx, await ctx.client.update(free), "Available")


async def set_volume_phase(ctx: Context[Any], volume: Object, phase: str, message: str = "") -> Object:
    """Writes the phase of a volume, if changed, and returns the volume."""
    if phase_of(volume) == phase:
        return volume
    status = {name: value for name, value in (volume.get("status") or {}).items() if name != "message"}
    # The server sets the time of the transition.
    status.pop("lastPhaseTransitionTime", None)
    status |= {"phase": phase, **({"message": message} if message else {})}
    found: Object = await ctx.client.update({**volume, "status": status}, subresource="status")
    return found


async def set_claim_phase(ctx: Context[Any], claim: Object, phase: str, volume: Object | None = None) -> bool:
    """Writes the phase of a claim, with the access modes and the size of its volume. Returns True if changed."""
    before = claim.get("status") or {}
    status = dict(before)
    status["phase"] = phase
    if volume is None:
        for name in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
            status.pop(name, None)
    else:
        status["accessModes"] = list(volume["spec"].get("accessModes") or ())
        # The size of a bound claim may differ from that of its volume during an expansion.
        if before.get("phase") != phase:
            status["capacity"] = dict(volume["spec"]["capacity"])
        if before.get("phase") == "Pending" and (name := volume["spec"].get("volumeAttributesClassName")):
            status["currentVolumeAttributesClassName"] = name
    if status == before:
        return False
    await ctx.client.update({**claim, "status": status}, subresource="status")
    return True
