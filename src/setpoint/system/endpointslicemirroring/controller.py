"""The controller that mirrors Endpoints of Services without a selector to slices."""

from typing import TYPE_CHECKING, Any

from setpoint.cache.informer import Change
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue
from setpoint.controller.watch import Watch
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.endpoints.controller import ENDPOINTS, LEADER
from setpoint.system.endpointslicemirroring.mirror import MANAGED_BY, MOST_ADDRESSES, mirror_changes, mirror_of
from setpoint.system.service_endpoints.pods import SERVICE
from setpoint.system.service_endpoints.slices import (
    SLICE,
    BySlice,
    SliceChanges,
    SliceFailure,
    slices_of,
    write,
)

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

COMPONENT = "endpoint-slice-mirroring-controller"
SKIP_LABEL = "endpointslice.kubernetes.io/skip-mirror"
CONCURRENCY = 5


class MirrorReconciler:
    """Reconciles the slices that mirror Endpoints."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Mirrors Endpoints, or deletes the slices of those that need no mirror. Raises Requeue after a failure."""
        existing = await slices_of(ctx, request.name, request.namespace, MANAGED_BY)
        endpoints = await ctx.client.find(ENDPOINTS, request.name, request.namespace)
        service = await ctx.client.find(SERVICE, request.name, request.namespace)
        if endpoints is None or service is None or not _is_mirrored(endpoints, service):
            owner = {"kind": "Endpoints", "metadata": {"name": request.name, "namespace": request.namespace}}
            await _write(ctx, owner, SliceChanges([], [], existing))
            return
        mirror = mirror_of(endpoints)
        if mirror.invalid:
            text = f"Skipped {mirror.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._recorder.warning(endpoints, "InvalidIPAddress", text)
        if mirror.skipped > mirror.invalid:
            text = (
                f"A max of {MOST_ADDRESSES} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{mirror.skipped} addresses were skipped"
            )
            self._recorder.warning(endpoints, "TooManyAddressesToMirror", text)
        await _write(ctx, endpoints, mirror_changes(endpoints, existing, mirror.wanted))


async def _write(ctx: Context[Any], owner: Object, changes: SliceChanges) -> None:
    try:
        await write(ctx, owner, changes, creates=not owner["metadata"].get("deletionTimestamp"))
    except SliceFailure as error:
        raise Requeue(None, str(error)) from error


def _is_mirrored(endpoints: Object, service: Object) -> bool:
    metadata = endpoints["metadata"]
    return not (
        service["spec"].get("selector")
        or (metadata.get("labels") or {}).get(SKIP_LABEL) == "true"
        or LEADER in (metadata.get("annotations") or {})
    )


def _changes_selection(change: Change[Any]) -> bool:
    """Returns True if a Service appears or disappears without a selector, or its selector does."""
    states = [bool(each.object["spec"].get("selector")) for each in (change.old, change.new) if each is not None]
    return states == [False] or len(set(states)) == 2


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            MirrorReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=ENDPOINTS,
            watches=[
                Watch(SERVICE, predicates=(Predicate(_changes_selection, "changes the selection"),)),
                Watch(SLICE, BySlice(MANAGED_BY)),
            ],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
