"""Binds claims to volumes, and requests volumes from provisioners."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from setpoint.cache.entry import CachedObject, number
from setpoint.controller.context import Context
from setpoint.controller.request import Request, Requeue
from setpoint.objects.errors import NotFound
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.binding_writes import bind, set_claim_phase
from setpoint.system.persistentvolume.pods_by_claim import pods_using
from setpoint.system.persistentvolume.storage_state import (
    BETA_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM,
    CLASS,
    PROVISIONER,
    SELECTED_NODE,
    VOLUME,
    VOLUMES,
    annotations_of,
    claim_of,
    class_of,
    default_class,
    is_delayed,
    key_of,
    names_class,
    references,
    volume_values,
    with_annotations,
)
from setpoint.system.persistentvolume.volume_match import best_volume, mismatch
from setpoint.system.pods.state import ENDED
from setpoint.system.pods.state import phase_of as pod_phase
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

# The age in seconds from which a pod that is not scheduled waits for a node.
_NEW_SECONDS = 5.0
# The prefix of the provisioners that were part of Kubernetes.
_BUILT_IN = "kubernetes.io/"
_NO_VOLUMES = "no persistent volumes available for this claim and no storage class is set"
_NO_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_NO_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
_EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{name}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)


class ClaimBinder:
    """Reconciles claims. `settled` is called after each claim that is bound or gone."""

    def __init__(self, recorder: "Recorder", settled: Callable[[Request], None]) -> None:
        self._recorder = recorder
        self._settled = settled

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Takes the next steps of a claim."""
        claim: Object | None = await ctx.client.find(CLAIM, request.name, request.namespace)
        if claim is None:
            self._settled(request)
        elif BIND_COMPLETED in annotations_of(claim):
            await self._keep(ctx, claim)
            self._settled(request)
        elif claim["spec"].get("volumeName"):
            await self._bind_named(ctx, claim)
            self._settled(request)
        elif await self._bind_any(ctx, claim):
            self._settled(request)

    # Claims that are not bound

    async def _bind_any(self, ctx: Context[Any], claim: Object) -> bool:
        """Binds a claim that names no volume, or requests a volume. Returns True if bound."""
        name = class_of(claim)
        storage_class = await ctx.client.find(CLASS, name) if name else None
        values = ("claim", key_of(claim)), ("class", name)
        found = await ctx.client.cache.by_index(VOLUME, VOLUMES, volume_values, values)
        candidates = [entry.object async for entry in in_turns(ctx, found)]
        volume = best_volume(claim, candidates, only_reserved=is_delayed(storage_class))
        if volume is not None:
            await bind(ctx, volume, claim)
            return True
        if not names_class(claim) and await _assign_class(ctx, claim):
            return False
        if is_delayed(storage_class) and SELECTED_NODE not in annotations_of(claim):
            await self._tell_delay(ctx, claim)
        elif name:
            await self._request_volume(ctx, claim, storage_class)
            return False
        else:
            self._recorder.normal(claim, "FailedBinding", _NO_VOLUMES)
        await set_claim_phase(ctx, claim, "Pending")
        return False

    async def _tell_delay(self, ctx: Context[Any], claim: Object) -> None:
        """Reports that a claim waits for a pod, or for the pods that use the claim to be scheduled."""
        users = await pods_using(ctx.client.cache, claim)
        waiting = sorted(each.meta.name for each in users if _waits(each, claim, ctx.clock.now()))
        if not waiting:
            text = "waiting for first consumer to be created before binding"
            self._recorder.normal(claim, "WaitForFirstConsumer", text)
            return
        noun = "pods" if len(waiting) > 1 else "pod"
        self._recorder.normal(claim, "WaitForPodScheduled", f"waiting for {noun} {','.join(waiting)} to be scheduled")

    async def _request_volume(self, ctx: Context[Any], claim: Object, storage_class: Object | None) -> None:
        """Names the provisioner that has to create a volume."""
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            self._recorder.warning(claim, "ProvisioningFailed", text)
            return
        name = storage_class["provisioner"]
        if name.startswith(_BUILT_IN):
            self._recorder.warning(claim, "ProvisioningFailed", f"no volume plugin matched name: {name}")
            return
        if annotations_of(claim).get(PROVISIONER) != name:
            claim = await ctx.client.update(with_annotations(claim, {PROVISIONER: name, BETA_PROVISIONER: name}))
        self._recorder.normal(claim, "ExternalProvisioning", _EXTERNAL.format(name=name))

    async def _bind_named(self, ctx: Context[Any], claim: Object) -> None:
        """Binds a claim that names its volume. Raises Requeue."""
        name = claim["spec"]["volumeName"]
        volume: Object | None = await ctx.client.find(VOLUME, name)
        if volume is not None and references(volume, claim):
            await bind(ctx, volume, claim)
            return
        if volume is not None and not claim_of(volume):
            reason = mismatch(volume, claim)
            if not reason:
                await bind(ctx, volume, claim)
                return
            text = f'Cannot bind to requested volume "{name}": {reason}'
            self._recorder.warning(claim, "VolumeMismatch", text)
        elif volume is not None:
            text = f'volume "{name}" already bound to a different claim.'
            self._recorder.warning(claim, "FailedBinding", text)
            if BOUND_BY_CONTROLLER in annotations_of(claim):
                raise Requeue(None, text)
        await set_claim_phase(ctx, claim, "Pending")

    # Claims that were bound

    async def _keep(self, ctx: Context[Any], claim: Object) -> None:
        """Completes the binding of a bound claim, or reports its loss."""
        name = claim["spec"].get("volumeName")
        if not name:
            await self._lose(ctx, claim, "ClaimLost", _NO_REFERENCE)
            return
        volume: Object | None = await ctx.client.find(VOLUME, name)
        if volume is None:
            volume = await _confirmed(ctx, name)
        if volume is None:
            await self._lose(ctx, claim, "ClaimLost", _NO_VOLUME)
        elif claim_of(volume) and claim_of(volume).get("uid") != claim["metadata"]["uid"]:
            await self._lose(ctx, claim, "ClaimMisbound", _MISBOUND)
        else:
            await bind(ctx, volume, claim)

    async def _lose(self, ctx: Context[Any], claim: Object, reason: str, text: str) -> None:
        if (claim.get("status") or {}).get("phase") != "Lost" and await set_claim_phase(ctx, claim, "Lost"):
            self._recorder.warning(claim, reason, text)


def _waits(pod: CachedObject[Any], claim: Object, now: datetime) -> bool:
    """Returns True if a pod waits to be scheduled. A new pod that was created after its claim will be in a moment."""
    if pod_phase(pod.object) in ENDED or pod.object["spec"].get("nodeName"):
        return False
    if (now - parse_time(pod.object["metadata"]["creationTimestamp"])).total_seconds() >= _NEW_SECONDS:
        return True
    versions = number(pod.meta.resource_version), number(claim["metadata"]["resourceVersion"])
    return (versions[0] or 0) < (versions[1] or 0)


async def _confirmed(ctx: Context[Any], name: str) -> Object | None:
    """Returns a volume that the cache does not have, because the cache may be stale."""
    try:
        found: Object = await ctx.api.get(VOLUME, name)
    except NotFound:
        return None
    return found


async def _assign_class(ctx: Context[Any], claim: Object) -> bool:
    """Gives the default class to a claim that was created before the class. Returns False without a default class."""
    found = default_class((await ctx.client.list(CLASS)).items)
    if found is None:
        return False
    spec = {**claim["spec"], "storageClassName": found["metadata"]["name"]}
    await ctx.client.update({**claim, "spec": spec})
    return True
