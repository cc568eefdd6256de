"""Starts the binder of volumes: the controllers of claims and of volumes, and the simulated provisioner.

Claims are reconciled one after the other, so that two claims never choose the same volume.
"""

from typing import Any

from setpoint.cache.change import Change
from setpoint.cache.entry import CachedObject
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Trigger
from setpoint.controller.watch import Watch
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.persistentvolume.claim_binder import ClaimBinder
from setpoint.system.persistentvolume.offers import Offers
from setpoint.system.persistentvolume.simulated_provisioner import (
    NODE,
    SimulatedProvisioner,
    is_released,
    needs_volume,
)
from setpoint.system.persistentvolume.simulated_storage import SIMULATED
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    CLAIMS,
    CLASS,
    VOLUME,
    claim_of,
    claim_values,
    default_class,
    is_fully_bound,
)
from setpoint.system.persistentvolume.volume_binder import VolumeBinder
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD

COMPONENT = "persistentvolume-controller"
# The time after which a claim reports the pods that wait for their nodes.
_REPORT_SECONDS = 15.0


def _claim_of(entry: CachedObject[Any]) -> tuple[Request, ...]:
    """Maps a volume to its claim."""
    reference = claim_of(entry.object)
    return (Request(reference["name"], reference["namespace"]),) if reference else ()


async def start(host: ControllerHost) -> None:
    """Starts the controllers."""
    recorder = host.recorder(COMPONENT)

    def wake_claim(request: Request) -> None:
        claims.enqueue(request, Trigger("requested", "a volume"))

    def wake_volume(request: Request) -> None:
        volumes.enqueue(request, Trigger("requested", "a claim with another volume"))

    def claims_without_class(entry: CachedObject[Any]) -> list[Request]:
        """Maps a default class to the claims without a class, which get the class."""
        if default_class((entry.object,)) is None:
            return []
        store = host.cache.informer(CLAIM).store
        store.ensure_index(CLAIMS, claim_values, claim_values)
        return [Request(each.meta.name, each.meta.namespace) for each in store.by_index(CLAIMS, ("class", ""))]

    def report_later(change: Change[Any]) -> None:
        """Lets the claims of a new pod report later that they wait for the pod, if they still do."""
        if change.new is None or change.old is not None or facts_of(change.new).node:
            return
        for each in facts_of(change.new).claims:
            claim = host.cache.informer(CLAIM).store.get(f"{change.new.meta.namespace}/{each.claim}")
            if claim is not None and not is_fully_bound(claim.object):
                request = Request(each.claim, change.new.meta.namespace)
                claims.queue.add_after(request, _REPORT_SECONDS, Trigger("requested", "a pod that waits"))

    offers = Offers(wake_claim, wake_volume)
    claims = Controller(
        host.name,
        ClaimBinder(recorder, offers.settled).reconcile,
        clock=host.clock,
        kind=CLAIM,
        watches=[Watch(VOLUME, _claim_of), Watch(CLASS, claims_without_class)],
        reads=[POD],
        concurrency=1,
        own_status_triggers=False,
        field_manager=FIELD_MANAGER,
        keep_runs=64,
    )
    volumes = Controller(
        f"{host.name}-volumes",
        VolumeBinder(recorder, offers.offer, wake_claim).reconcile,
        clock=host.clock,
        kind=VOLUME,
        reads=[CLAIM, CLASS],
        concurrency=1,
        own_status_triggers=False,
        field_manager=FIELD_MANAGER,
        keep_runs=64,
    )
    await host.control(claims)
    await host.control(volumes)
    host.cache.informer(POD).add_handler(report_later)
    await _start_provisioner(host)


async def _start_provisioner(host: ControllerHost) -> None:
    provisioner = SimulatedProvisioner(host.recorder(SIMULATED))
    await host.control(
        Controller(
            f"{host.name}-provisioner",
            provisioner.provision,
            clock=host.clock,
            kind=Watch(CLAIM, predicates=(Predicate(needs_volume, "waits for a simulated volume"),)),
            reads=[CLASS, VOLUME, NODE],
            field_manager=SIMULATED,
            keep_runs=64,
        )
    )
    await host.control(
        Controller(
            f"{host.name}-deleter",
            provisioner.delete,
            clock=host.clock,
            kind=Watch(VOLUME, predicates=(Predicate(is_released, "is a released simulated volume"),)),
            field_manager=SIMULATED,
            keep_runs=64,
        )
    )
