"""The condition Available of APIServices with a Service, with the reasons and messages of kube-aggregator.

A Service of type ClusterIP must have the port of the APIService, and a ready endpoint for this port. Then the server
must answer at the path of the version. A Service that is redirected to another address is checked by its answer alone:
its server does not run in the cluster.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from setpoint.client.http.connection import Broken
from setpoint.objects.gotext import quote
from setpoint.objects.gvk import GroupVersion
from setpoint.objects.tree import Object
from setpoint.server.aggregation.followed_version import service_of
from setpoint.server.aggregation.remote_client import RemoteClient, TooLargeError
from setpoint.server.aggregation.remote_documents import JSON
from setpoint.server.outbound.client import AuthoritiesError
from setpoint.server.outbound.failure import CallFailed
from setpoint.server.outbound.service_resolver import ServiceError
from setpoint.server.registry.remote_version import RemoteServer
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services

TIMEOUT_SECONDS = 5.0
_PAGE = 500


class Verdict(NamedTuple):
    """The result of a check. `resource_list` is the document of the version, if the server answered."""

    reason: str = "Passed"
    message: str = "all checks passed"
    resource_list: bytes = b""

    @property
    def is_available(self) -> bool:
        return self.reason == "Passed"


async def check(services: Services, client: RemoteClient, gv: GroupVersion, server: RemoteServer) -> Verdict:
    """Returns the verdict about the server of a version."""
    try:
        address = services.resolver.resolve(server.namespace, server.name, server.port)
    except ServiceError as error:
        found = await _check_service(services, server)
        why = await services.explain_service(server.namespace, server.name, "extension API server")
        return found or Verdict("FailedDiscoveryCheck", why or str(error))
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    path = f"/apis/{gv}"
    url = f"https://{host}:{address[1]}{path}"
    try:
        answer, body = await client.read(server, path, JSON, TIMEOUT_SECONDS)
    except CallFailed as error:
        why = f"Get {quote(url)}: {error}"
    except TimeoutError:
        return Verdict("FailedDiscoveryCheck", f"timed out waiting for {url}")
    except (AuthoritiesError, Broken, TooLargeError) as error:
        why = str(error)
    else:
        if 200 <= answer.status < 300:
            return Verdict(resource_list=body)
        why = f"bad status from {url}: {answer.status}"
    return Verdict("FailedDiscoveryCheck", f"failing or missing response from {url}: {why}")


async def _check_service(services: Services, server: RemoteServer) -> Verdict | None:
    """Returns the verdict about a Service without a port or an endpoint; None if both exist."""
    place = f'service/{server.name} in "{server.namespace}"'
    resource = _resource(services, "", "services")
    item = await services.store.get(resource.storage.key(server.namespace, server.name))
    if item is None:
        return Verdict("ServiceNotFound", f"{place} is not present")
    spec = resource.item(item)["spec"]
    if (spec.get("type") or "ClusterIP") != "ClusterIP":
        return None
    ports = [each for each in spec.get("ports") or () if each.get("port") == server.port]
    if not ports:
        return Verdict("ServicePortError", f"{place} is not listening on port {server.port}")
    name = ports[0].get("name") or ""
    exist = False
    async for tree in _endpoint_slices(services, server):
        exist = True
        if _is_ready(tree, name):
            return None
    if not exist:
        return Verdict("EndpointsNotFound", f"cannot find endpointslices for {place}")
    return Verdict("MissingEndpoints", f"endpointslices for {place} have no addresses with port name {quote(name)}")


async def _endpoint_slices(services: Services, server: RemoteServer) -> AsyncIterator[Object]:
    """Yields the EndpointSlices of a Service, and lets other tasks run after every page of the namespace."""
    resource = _resource(services, "discovery.k8s.io", "endpointslices")
    after = ""
    while True:
        page = await services.store.range(resource.storage.scope(server.namespace), after, _PAGE)
        for item in page.items:
            tree = resource.item(item)
            if service_of(tree) == server.name:
                yield tree
        if len(page.items) < _PAGE:
            return
        after = page.items[-1].key
        await asyncio.sleep(0)


def _is_ready(tree: Object, port: str) -> bool:
    """Returns True if an EndpointSlice has the port, and an endpoint that is not declared as not ready."""
    ready = any((each.get("conditions") or {}).get("ready") is not False for each in tree.get("endpoints") or ())
    return ready and any(
        (each.get("name") or "") == port and each.get("port") is not None for each in tree.get("ports") or ()
    )


def _resource(services: Services, group: str, plural: str) -> Resource:
    found = services.registry.resource(group, "v1", plural)
    assert found is not None, f"{plural} are always served"
    return found
