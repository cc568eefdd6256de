"""The controller of endpoint slices keeps the slices of each Service with a selector like its pods."""

from collections.abc import Hashable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Requeue
from setpoint.controller.watch import Watch, for_none
from setpoint.objects.errors import NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.endpointslice.hints import set_hints
from setpoint.system.endpointslice.packing import Group, packed
from setpoint.system.pods.state import POD, is_ready
from setpoint.system.service_endpoints.pods import (
    HEADLESS_LABEL,
    SERVICE,
    TRIGGER_TIME,
    ByPod,
    addresses_of,
    changes_endpoints,
    families_of,
    has_address,
    hostname_of,
    is_endpoint,
    is_managed,
    pods_of,
    ports_of,
    reference_to,
)
from setpoint.system.service_endpoints.slices import (
    MANAGER_LABEL,
    SERVICE_LABEL,
    SLICE,
    BySlice,
    SliceChanges,
    SliceFailure,
    identity,
    new_slice,
    ports_key,
    renamed,
    slices_of,
    write,
)
from setpoint.system.service_endpoints.trigger_times import TriggerTimes
from setpoint.system.turns import in_turns

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

MANAGED_BY = "endpointslice-controller.k8s.io"
COMPONENT = "endpoint-slice-controller"
CONCURRENCY = 5
NODE, ZONE_LABEL = "v1/Node", "topology.kubernetes.io/zone"
_RESERVED = frozenset((SERVICE_LABEL, MANAGER_LABEL, HEADLESS_LABEL))


class EndpointSliceReconciler:
    """Reconciles the slices of Services."""

    def __init__(self, cache: Cache, recorder: "Recorder") -> None:
        self._cache = cache
        self._recorder = recorder
        self._node = kind_of(NODE)
        self._times = TriggerTimes()

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Writes the slices of a Service. Raises Requeue after a failure."""
        try:
            service: Object = await ctx.client.get(SERVICE, request.name, request.namespace)
        except NotFound:
            self._times.forget(request.name, request.namespace)
            return
        if not is_managed(service):
            return
        pods = await pods_of(ctx, service)
        existing = await slices_of(ctx, request.name, request.namespace, MANAGED_BY)
        time = self._times.next(service, pods)
        families = families_of(service)
        problems = []
        for family in families:
            own = [each for each in existing if each["addressType"] == family]
            groups, missing = await self._desired(ctx, service, pods, family)
            problems += missing
            changes = family_changes(service, family, own, groups)
            _recycle(service, changes)
            _stamp(changes, time)
            problems += await self._write(ctx, service, changes)
        foreign = [each for each in existing if each["addressType"] not in families]
        problems += await self._write(ctx, service, SliceChanges([], [], foreign))
        if problems:
            where = f"{request.namespace}/{request.name}"
            text = f"Error updating Endpoint Slices for Service {where}: {_joined(problems)}"
            self._recorder.warning(service, "FailedToUpdateEndpointSlices", text)
            raise Requeue(None, text)

    @staticmethod
    async def _write(ctx: Context[Any], service: Object, changes: SliceChanges) -> list[str]:
        """Writes the changes. Returns the failure, if there is one."""
        try:
            await write(ctx, service, changes, creates=not service["metadata"].get("deletionTimestamp"))
        except SliceFailure as error:
            return [str(error)]
        return []

    async def _desired(
        self, ctx: Context[Any], service: Object, pods: Sequence[Object], family: str
    ) -> tuple[dict[Hashable, Group], list[str]]:
        """Returns the endpoints of a Service by their ports, and the problems with pods that were left out."""
        groups: dict[Hashable, Group] = {}
        problems = []
        publishes_all = bool(service["spec"].get("publishNotReadyAddresses"))
        async for pod in in_turns(ctx, pods):
            if not is_endpoint(pod, include_terminating=True):
                continue
            ports = ports_of(service, pod)
            group = groups.setdefault(ports_key(ports), Group(ports, {}))
            node = self._cache.entry(self._node, pod["spec"].get("nodeName") or "")
            if node is None and not publishes_all:
                problems.append(_missing_node(service, pod))
                continue
            endpoint = endpoint_of(pod, node, service, family)
            if endpoint["addresses"]:
                group.endpoints[identity(endpoint)] = endpoint
        return groups, problems


def _missing_node(service: Object, pod: Object) -> str:
    where = f"{service['metadata']['namespace']}/{service['metadata']['name']}"
    node = pod["spec"].get("nodeName") or ""
    return f"skipping Pod {pod['metadata']['name']} for Service {where}: Node {node} Not Found"


def _joined(problems: list[str]) -> str:
    """Returns the problems as kube-controller-manager prints several errors."""
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def endpoint_of(pod: Object, node: CachedObject[Any] | None, service: Object, family: str) -> Object:
    """Returns the endpoint of a pod."""
    serving, terminating = is_ready(pod), bool(pod["metadata"].get("deletionTimestamp"))
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    endpoint: Object = {
        "addresses": addresses_of(pod, family),
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": reference_to(pod),
    }
    hostname = hostname_of(pod, service)
    if hostname is not None:
        endpoint["hostname"] = hostname
    if pod["spec"].get("nodeName"):
        endpoint["nodeName"] = pod["spec"]["nodeName"]
    zone = (node.meta.labels or {}).get(ZONE_LABEL) if node is not None else None
    if zone:
        endpoint["zone"] = zone
    return endpoint


def family_changes(service: Object, family: str, existing: list[Object], groups: dict[Hashable, Group]) -> SliceChanges:
    """Returns the changes of the slices with addresses of one family. A Service without endpoints has one empty
    slice."""
    create: list[Object] = []
    update: list[Object] = []
    delete = [each for each in existing if not _is_owned(each, service)]
    by_ports: dict[Hashable, list[Object]] = {}
    for each in existing:
        if _is_owned(each, service):
            by_ports.setdefault(ports_key(each.get("ports")), []).append(each)

    def labels(found: Object) -> Object | None:
        wanted, given = labels_of(service), found["metadata"].get("labels") or {}
        return None if _free(wanted) == _free(given) else wanted

    for key, group in groups.items():
        own = by_ports.pop(key, [])
        blank = partial(new_slice, service, family, labels_of(service), group.ports)
        made = packed(own, group.endpoints, labels, blank)
        create += made.create
        update += made.update
        delete += made.delete
    for rest in by_ports.values():
        delete += rest
    if len(existing) == len(delete) and not create:
        placeholder = new_slice(service, family, labels_of(service), [])
        if len(delete) == 1 and _is_placeholder(delete[0], placeholder):
            delete = []
        else:
            create.append(placeholder)
    _set_hints(service, existing, create, update, delete)
    return SliceChanges(create, update, delete)


def _set_hints(
    service: Object, existing: list[Object], create: list[Object], update: list[Object], delete: list[Object]
) -> None:
    """Sets the hints of all slices that remain; adds unchanged ones with other hints to the updates."""
    touched = {each["metadata"]["name"] for each in (*update, *delete)}
    set_hints([*create, *update], service)
    for each in existing:
        if each["metadata"]["name"] not in touched and each.get("endpoints"):
            made = thaw(each)
            if set_hints([made], service):
                update.append(made)


def _recycle(service: Object, changes: SliceChanges) -> None:
    """Turns creations into updates of slices that would be deleted otherwise."""
    for old in list(changes.delete):
        if changes.create and _is_owned(old, service):
            changes.update.append(renamed(changes.create.pop(), old))
            changes.delete.remove(old)


def _stamp(changes: SliceChanges, time: datetime | None) -> None:
    """Sets the time of the change that is exported, or removes the one of an earlier change."""
    for each in (*changes.create, *changes.update):
        metadata = each["metadata"]
        annotations = {
            name: value for name, value in (metadata.get("annotations") or {}).items() if name != TRIGGER_TIME
        }
        if time is not None:
            annotations[TRIGGER_TIME] = format_time(time)
        metadata["annotations"] = annotations


def _is_owned(found: Object, service: Object) -> bool:
    uid = service["metadata"]["uid"]
    references = found["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid and each["kind"] == "Service" for each in references)


def _is_placeholder(found: Object, wanted: Object) -> bool:
    return (
        not found.get("endpoints")
        and not found.get("ports")
        and found["metadata"].get("labels") == wanted["metadata"]["labels"]
        and found["metadata"].get("ownerReferences") == wanted["metadata"]["ownerReferences"]
    )


def _free(labels: Object) -> Object:
    """Returns the labels that users choose."""
    return {name: value for name, value in labels.items() if name not in _RESERVED}


def labels_of(service: Object) -> Object:
    """Returns the labels of a slice: those of its Service, and its name and manager."""
    labels = _free(service["metadata"].get("labels") or {})
    if not has_address(service):
        labels[HEADLESS_LABEL] = ""
    return labels | {SERVICE_LABEL: service["metadata"]["name"], MANAGER_LABEL: MANAGED_BY}


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            EndpointSliceReconciler(host.cache, host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=SERVICE,
            watches=[
                Watch(POD, ByPod(host.cache), predicates=(changes_endpoints,)),
                Watch(SLICE, BySlice(MANAGED_BY)),
                Watch(NODE, for_none),
            ],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
