"""Endpoint slices: their labels, the identity of endpoints and of sets of ports, and the writes of a reconcile."""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from setpoint.cache.entry import CachedObject
from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.pods.control import is_namespace_terminating

SLICE = "discovery.k8s.io/v1/EndpointSlice"
SERVICE_LABEL, MANAGER_LABEL = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
# The longest prefix of a generated name with a dash.
_LONGEST_PREFIX = 253
_INDEX = "namespace, service and manager"


class SliceChanges(NamedTuple):
    """The slices to create, to update and to delete."""

    create: list[Object]
    update: list[Object]
    delete: list[Object]


class SliceFailure(Exception):  # noqa: N818 - named for the event
    """A slice could not be written."""


def _service_and_manager(entry: CachedObject[Any]) -> Iterable[tuple[str, str, str]]:
    labels = entry.meta.labels or {}
    name = labels.get(SERVICE_LABEL)
    return ((entry.meta.namespace, name, labels.get(MANAGER_LABEL, "")),) if name else ()


async def slices_of(ctx: Context[Any], service: str, namespace: str, manager: str) -> list[Object]:
    """Returns the slices of a Service that a controller manages, without those that are being deleted. The result
    shows all own writes."""
    client = ctx.client
    if client.has_uncertain_writes:
        # Asks the server; the read of the cache below waits for the objects in the response.
        await client.list(SLICE, namespace)
    value = namespace, service, manager
    found = await client.cache.by_index(SLICE, _INDEX, _service_and_manager, (value,), namespace)
    kept = (entry.object for entry in found if not entry.meta.deletion_timestamp)
    return sorted(kept, key=lambda each: str(each["metadata"]["name"]))


def identity(endpoint: Object) -> Hashable:
    """Returns the identity of an endpoint: its addresses, host name and pod."""
    target = endpoint.get("targetRef") or {}
    addresses = tuple(sorted(endpoint.get("addresses") or ()))
    return addresses, endpoint.get("hostname") or "", target.get("namespace"), target.get("name")


def ports_key(ports: Iterable[Object] | None) -> Hashable:
    """Returns the identity of a set of ports."""
    return frozenset(tuple(sorted(port.items())) for port in ports or ())


def is_equal(one: Object, other: Object) -> bool:
    """Returns True if two endpoints of the same identity are equal, apart from hints."""
    fields = ("nodeName", "zone")
    conditions = one.get("conditions") or {}, other.get("conditions") or {}
    return (
        all(one.get(field) == other.get(field) for field in fields)
        and all(conditions[0].get(name) == conditions[1].get(name) for name in ("ready", "serving", "terminating"))
        and _reference(one) == _reference(other)
    )


def _reference(endpoint: Object) -> Object:
    return {name: value for name, value in (endpoint.get("targetRef") or {}).items() if name != "resourceVersion"}


def name_prefix(service: str) -> str:
    """Returns the prefix of the generated name of a slice."""
    return f"{service}-" if len(service) < _LONGEST_PREFIX else service


def renamed(made: Object, old: Object) -> Object:
    """Gives a new slice the name of an existing one, to replace that one."""
    made["metadata"]["name"] = old["metadata"]["name"]
    return made


class BySlice:
    """Maps a slice of one manager to its Service."""

    def __init__(self, manager: str) -> None:
        self._manager = manager

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        labels = entry.meta.labels or {}
        is_ours = labels.get(SERVICE_LABEL) and labels.get(MANAGER_LABEL) == self._manager
        return [Request(labels[SERVICE_LABEL], entry.meta.namespace)] if is_ours else []


async def write(ctx: Context[Any], owner: Object, changes: SliceChanges, *, creates: bool) -> None:
    """Writes the changes of the slices of an owner. `creates` is False for an owner that is being deleted. Raises
    SliceFailure."""
    where = f"{owner['kind']} {owner['metadata']['namespace']}/{owner['metadata']['name']}"
    namespace = owner["metadata"]["namespace"]
    for each in changes.create if creates else ():
        try:
            await ctx.api.create(each, namespace=namespace)
        except APIError as error:
            if is_namespace_terminating(error):
                return
            raise SliceFailure(f"failed to create EndpointSlice for {where}: {error}") from error
    for each in changes.update:
        name = each["metadata"]["name"]
        try:
            await ctx.client.update(each)
        except APIError as error:
            raise SliceFailure(f"failed to update {name} EndpointSlice for {where}: {error}") from error
    for each in changes.delete:
        name = each["metadata"]["name"]
        try:
            await ctx.api.delete(SLICE, name, namespace, uid=each["metadata"]["uid"])
        except NotFound:
            continue
        except APIError as error:
            raise SliceFailure(f"failed to delete {name} EndpointSlice for {where}: {error}") from error


def new_slice(owner: Object, family: str, labels: Object, ports: list[Object]) -> Object:
    """Returns an empty slice of a Service or of Endpoints."""
    metadata = owner["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": name_prefix(metadata["name"]),
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [controller_reference(owner)],
        },
        "addressType": family,
        "endpoints": [],
        "ports": ports,
    }
