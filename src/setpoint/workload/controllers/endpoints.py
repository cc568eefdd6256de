"""The Endpoints of a workload: one for each Service that the workload serves while running.

Their names are derived from the names of the workload and the Service, so that no Endpoint is created twice.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from setpoint.client.kinds import tree_of
from setpoint.controller.child_names import child_name
from setpoint.controller.context import Context
from setpoint.objects import meta
from setpoint.objects.errors import AlreadyExists, Conflict, NotFound
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import GROUP, VERSION
from setpoint.workload.kinds.endpoint import Endpoint
from setpoint.workload.proxy.addresses import in_url

# The address at which a server is reached that listens on all addresses.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]"}


class ServiceAddress(NamedTuple):
    """The address and port at which a Service is served."""

    address: str
    port: int


async def serve(ctx: Context, owner: Object, served: Mapping[str, ServiceAddress], others: Iterable[str] = ()) -> None:
    """Creates or updates the Endpoints of an owner, one for each Service in `served`, and deletes the Endpoints of the
    `others`."""
    for service in {*others} - served.keys():
        name = _name(owner, service)
        found = await _found(ctx, name)
        if found is not None and _is_of(found, owner):
            with suppress(NotFound):
                await ctx.client.delete(Endpoint, name)
    for service, (address, port) in served.items():
        spec: Object = {
            "serviceName": service,
            "address": in_url(_ANYWHERE.get(address, address)) or "localhost",
            "port": port,
        }
        found = await _found(ctx, _name(owner, service))
        if found is None or not _is_of(found, owner) or any(found["spec"].get(key) != spec[key] for key in spec):
            await _put(ctx, _endpoint(_name(owner, service), owner, spec), found)


def _name(owner: Object, service: str) -> str:
    return child_name(meta.name(owner), owner["kind"], service)


async def _found(ctx: Context, name: str) -> Object | None:
    try:
        return tree_of(await ctx.client.get(Endpoint, name))
    except NotFound:
        return None


async def _put(ctx: Context, endpoint: Object, found: Object | None) -> None:
    if found is None:
        try:
            await ctx.client.create(endpoint)
            return
        except AlreadyExists:
            # The Endpoint of a deleted object with this name; the garbage collector is about to delete the Endpoint.
            found = tree_of(await ctx.api.get(Endpoint, meta.name(endpoint)))
    endpoint["metadata"]["resourceVersion"] = meta.resource_version(found)
    try:
        await ctx.client.update(endpoint)
    except NotFound as error:
        raise Conflict(str(error)) from error


def _endpoint(name: str, owner: Object, spec: Object) -> Object:
    reference = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": owner["kind"],
        "name": meta.name(owner),
        "uid": meta.uid(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Endpoint",
        "metadata": {"name": name, "ownerReferences": [reference]},
        "spec": spec,
    }


def _is_of(endpoint: Object, owner: Object) -> bool:
    references: list[Object] = endpoint["metadata"].get("ownerReferences") or []
    return any(each["uid"] == meta.uid(owner) for each in references)
