"""The controller of Endpoints keeps the Endpoints of each Service with a selector like its pods."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue
from setpoint.controller.watch import Watch
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.pods.control import is_namespace_terminating
from setpoint.system.pods.state import POD, is_ready
from setpoint.system.service_endpoints.pods import (
    HEADLESS_LABEL,
    IPV4,
    SERVICE,
    TRIGGER_TIME,
    ByPod,
    addresses_of,
    changes_endpoints,
    family_of,
    has_address,
    hostname_of,
    is_endpoint,
    is_managed,
    pods_of,
    ports_of,
    reference_to,
)
from setpoint.system.service_endpoints.subsets import MOST_ADDRESSES, number_of, repacked, subset_of, truncated
from setpoint.system.service_endpoints.trigger_times import TriggerTimes
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

ENDPOINTS = "v1/Endpoints"
COMPONENT = "endpoint-controller"
MANAGER_LABEL = "endpoints.kubernetes.io/managed-by"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
LEADER = "control-plane.alpha.kubernetes.io/leader"
CONCURRENCY = 5


class EndpointsReconciler:
    """Reconciles the Endpoints of Services."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder
        self._times = TriggerTimes()

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Writes the Endpoints of a Service, or deletes those of a deleted one. Raises Requeue after a failure."""
        current = await ctx.client.find(ENDPOINTS, request.name, request.namespace)
        try:
            service: Object = await ctx.client.get(SERVICE, request.name, request.namespace)
        except NotFound:
            self._times.forget(request.name, request.namespace)
            if current is not None and not current["metadata"].get("deletionTimestamp"):
                await _delete(ctx, current)
            return
        if not is_managed(service):
            return
        pods = await pods_of(ctx, service)
        time = self._times.next(service, pods)
        subsets = await _subsets(ctx, service, pods)
        if current is not None and _is_current(current, service, subsets):
            return
        await self._write(ctx, service, current, new_endpoints(service, current, subsets, time))

    async def _write(self, ctx: Context[Any], service: Object, current: Object | None, made: Object) -> None:
        where = f"{service['metadata']['namespace']}/{service['metadata']['name']}"
        try:
            if current is None:
                await ctx.api.create(made, namespace=service["metadata"]["namespace"])
            else:
                await ctx.client.update(made)
        except APIError as error:
            if current is None and is_namespace_terminating(error):
                return
            if current is None:
                reason, text = "FailedToCreateEndpoint", f"Failed to create endpoint for service {where}: {error}"
            else:
                reason, text = "FailedToUpdateEndpoint", f"Failed to update endpoint {where}: {error}"
            self._recorder.warning(made, reason, text)
            raise Requeue(None, text) from error


async def _delete(ctx: Context[Any], current: Object) -> None:
    metadata = current["metadata"]
    try:
        await ctx.api.delete(ENDPOINTS, metadata["name"], metadata["namespace"], uid=metadata["uid"])
    except NotFound:
        return


def _family(service: Object, pod: Object) -> str:
    """Returns the address family of a pod's endpoint: Endpoints have the first family of their Service."""
    spec = service["spec"]
    if spec.get("ipFamilies"):
        return str(spec["ipFamilies"][0])
    return family_of(spec["clusterIP"] if has_address(service) else (pod.get("status") or {}).get("podIP") or IPV4)


async def _subsets(ctx: Context[Any], service: Object, pods: Sequence[Object]) -> list[Object]:
    """Returns the canonical subsets of the pods of a Service."""
    publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
    is_portless = not service["spec"].get("ports") and not has_address(service)
    subsets = []
    async for pod in in_turns(ctx, pods):
        if not is_endpoint(pod, include_terminating=publishes_all):
            continue
        found = addresses_of(pod, _family(service, pod))
        ports = [_without_empty_name(each) for each in ports_of(service, pod)]
        if not found or not (ports or is_portless):
            continue
        address: Object = {
            "ip": found[0],
            "nodeName": pod["spec"].get("nodeName") or "",
            "targetRef": reference_to(pod),
        }
        hostname = hostname_of(pod, service)
        if hostname is not None:
            address["hostname"] = hostname
        subsets.append(subset_of(address, ports, is_ready=publishes_all or is_ready(pod)))
    return repacked(subsets)


def _without_empty_name(port: Object) -> Object:
    return {name: value for name, value in port.items() if name != "name" or value}


def _labels(service: Object) -> Object:
    labels = {
        name: value for name, value in (service["metadata"].get("labels") or {}).items() if name != HEADLESS_LABEL
    }
    if not has_address(service):
        labels[HEADLESS_LABEL] = ""
    return labels | {MANAGER_LABEL: COMPONENT}


def _is_current(current: Object, service: Object, subsets: list[Object]) -> bool:
    """Returns True if Endpoints need no write. Truncated ones are written again, as there may be room."""
    metadata = current["metadata"]
    given = current.get("subsets") or []
    return (
        repacked(given) == subsets
        and (metadata.get("labels") or {}) == _labels(service)
        and number_of(given) <= MOST_ADDRESSES
        and OVER_CAPACITY not in (metadata.get("annotations") or {})
    )


def new_endpoints(service: Object, current: Object | None, subsets: list[Object], time: datetime | None) -> Object:
    """Returns the Endpoints of a Service."""
    where = service["metadata"]
    base = current or {"apiVersion": "v1", "kind": "Endpoints", "metadata": {}}
    own = (TRIGGER_TIME, OVER_CAPACITY)
    given = base["metadata"].get("annotations") or {}
    annotations = {name: value for name, value in given.items() if name not in own}
    if time is not None:
        annotations[TRIGGER_TIME] = format_time(time)
    if number_of(subsets) > MOST_ADDRESSES:
        annotations[OVER_CAPACITY] = "truncated"
        subsets = truncated(subsets)
    metadata: Object = {**base["metadata"], "name": where["name"], "namespace": where["namespace"]}
    metadata |= {"labels": _labels(service), "annotations": annotations}
    return {**base, "metadata": metadata, "subsets": subsets}


def _by_name(entry: CachedObject[Any]) -> list[Request]:
    """Maps Endpoints to their Service. Endpoints that elect a leader have none."""
    return [] if LEADER in entry.annotations else [Request(entry.meta.name, entry.meta.namespace)]


def _is_deleted_or_initial(change: Change[Any]) -> bool:
    return change.new is None or change.initial


async def start(host: ControllerHost) -> None:
    """Starts the controller. Endpoints that exist at the start may belong to a Service that was deleted before."""
    await host.control(
        Controller(
            host.name,
            EndpointsReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=SERVICE,
            watches=[
                Watch(POD, ByPod(host.cache), predicates=(changes_endpoints,)),
                Watch(ENDPOINTS, _by_name, predicates=(Predicate(_is_deleted_or_initial, "deleted or initial"),)),
            ],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
