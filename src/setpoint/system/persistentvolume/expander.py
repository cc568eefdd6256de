"""The expander: reports claims that request more than the size of their volume, and enlarges simulated volumes."""

from typing import TYPE_CHECKING, Any

from setpoint.cache.change import Change
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request
from setpoint.controller.watch import Watch
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.persistentvolume.simulated_storage import SIMULATED
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    PROVISIONED_BY,
    VOLUME,
    annotations_of,
    capacity,
    claim_of,
    phase_of,
    requested,
)

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

COMPONENT = "volume_expand"


def _is_small(claim: Object) -> bool:
    """Returns True if a bound claim requests more than its present size."""
    size = Quantity.parse(str(((claim.get("status") or {}).get("capacity") or {}).get("storage", "0")))
    return phase_of(claim) == "Bound" and requested(claim) > size


def _requests_more(change: Change[Any]) -> bool:
    return change.new is not None and _is_small(change.new.object)


class VolumeExpander:
    """Reconciles the sizes of claims. The volume is enlarged before the claim reports its size."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Enlarges the volume of a claim, unless that is the work of another program."""
        claim: Object | None = await ctx.client.find(CLAIM, request.name, request.namespace)
        if claim is None or not _is_small(claim):
            return
        volume: Object | None = await ctx.client.find(VOLUME, claim["spec"]["volumeName"])
        if volume is None or claim_of(volume).get("uid") != claim["metadata"]["uid"]:
            return
        self._recorder.normal(claim, "ExternalExpanding", "waiting for an external controller to expand this PVC")
        if annotations_of(volume).get(PROVISIONED_BY) != SIMULATED:
            return
        size, name = claim["spec"]["resources"]["requests"]["storage"], volume["metadata"]["name"]
        self._recorder.normal(claim, "Resizing", f"External resizer is resizing volume {name}")
        if capacity(volume) < requested(claim):
            await ctx.client.update({**volume, "spec": {**volume["spec"], "capacity": {"storage": size}}})
        sizes = {"capacity": {"storage": size}, "allocatedResources": {"storage": size}}
        await ctx.client.update({**claim, "status": {**claim["status"], **sizes}}, subresource="status")
        self._recorder.normal(claim, "VolumeResizeSuccessful", "Resize volume succeeded")


async def start(host: ControllerHost) -> None:
    """Starts the expander."""
    await host.control(
        Controller(
            host.name,
            VolumeExpander(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=Watch(CLAIM, predicates=(Predicate(_requests_more, "requests more"),)),
            reads=[VOLUME],
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
