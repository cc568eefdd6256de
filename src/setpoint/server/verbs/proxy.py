"""The subresource proxy of pods and services: sends the request of a client to a port of a pod.

The name in the path is `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. A service stands for one of the ready pods in its
Endpoints.
"""

from typing import NamedTuple

from setpoint.node.ports import PortReply, PortRequest
from setpoint.objects.errors import BadRequest, NotFound, ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.pod_agent import agent_of

_SCHEMES = frozenset(("", "http", "https"))
_DEFAULT_PORT = 80
_TEXT = "text/plain; charset=utf-8"
# Headers of requests that concern the server itself: credentials, and the connection.
_OWN_HEADERS = frozenset(
    ("authorization", "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade")
)
_IMPERSONATION = "impersonate-"
# Headers of answers that the edge writes.
_EDGE_HEADERS = frozenset(
    ("cache-control", "connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding")
)
# The segments of a path before the path of the application: the name of the subresource is the last one.
_SEGMENTS = 8


class _Destination(NamedTuple):
    """A pod and one of its ports."""

    pod: Object
    port: int


async def proxied(context: Context, resource: Resource) -> Response:
    """Answers with the answer of the application. Raises APIError if no application can be reached."""
    name, port = _name_and_port(context.info.name, resource.singular)
    if context.info.resource == "services":
        found = await _pod_of_service(context, name, port)
    else:
        found = _port_of_pod(await _stored(context, resource, name), port)
    agent = agent_of(context, found.pod, "pod")
    path, request = _application_path(context), context.request
    if not path and request.method in ("GET", "HEAD"):
        # As on kube-apiserver: relative links of a page need a path that ends with a slash.
        location = f"{request.path}/{'?' + request.query if request.query else ''}"
        return Response(301, _TEXT, b"", [("Location", location)])
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in _OWN_HEADERS and not name.startswith(_IMPERSONATION)
    }
    sent = PortRequest(request.method, path or "/", request.query, headers, request.body)
    return _response(await agent.request(found.pod, found.port, sent))


def _response(reply: PortReply) -> Response:
    kinds = [value for name, value in reply.headers.items() if name.lower() == "content-type"]
    headers = [(name, value) for name, value in reply.headers.items() if name.lower() not in _EDGE_HEADERS]
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    return Response(reply.status, kinds[0] if kinds else _TEXT, body, headers)


def _name_and_port(text: str, singular: str) -> tuple[str, str]:
    """Returns the name and the port in the name of a request. Raises BadRequest."""
    parts = text.split(":")
    scheme = parts.pop(0) if len(parts) == 3 else ""
    if len(parts) > 2 or scheme not in _SCHEMES or not parts[0]:
        raise BadRequest(f'invalid {singular} request "{text}": use NAME, NAME:PORT or SCHEME:NAME:PORT')
    return parts[0], parts[1] if len(parts) == 2 else ""


def _application_path(context: Context) -> str:
    """Returns the path of the application, percent-encoded; empty without a slash after the subresource."""
    parts = context.request.path.split("/", _SEGMENTS)
    if len(parts) >= _SEGMENTS and parts[_SEGMENTS - 1] == "proxy":
        return f"/{parts[_SEGMENTS]}" if len(parts) > _SEGMENTS else ""
    return "/" + "/".join(context.info.subpath)  # a path with escaped slashes before the application's part


async def _stored(context: Context, resource: Resource, name: str) -> Object:
    item = await context.services.store.get(resource.storage.key(context.info.namespace, name))
    if item is None:
        raise NotFound.of(resource.group_resource, name)
    return resource.item(item)


def _port_of_pod(pod: Object, text: str) -> _Destination:
    """Returns the port of a pod: the given one, or the first one of its containers. Raises BadRequest."""
    if text:
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:6]) < 1 << 16):
            raise BadRequest(f'invalid port "{text}" of pod {pod["metadata"]["name"]}: use a number from 1 to 65535')
        return _Destination(pod, int(text))
    ports = [port for container in pod["spec"]["containers"] for port in container.get("ports") or ()]
    return _Destination(pod, ports[0]["containerPort"] if ports else _DEFAULT_PORT)


async def _pod_of_service(context: Context, name: str, port: str) -> _Destination:
    """Returns a ready pod of a service, and the port of the pod. Raises NotFound or ServiceUnavailable."""
    services, endpoints, pods = (_core(context, plural) for plural in ("services", "endpoints", "pods"))
    service = await _stored(context, services, name)
    if port.isascii() and port.isdecimal():
        named = [each for each in service["spec"].get("ports") or () if str(each["port"]) == port]
        if not named:
            raise ServiceUnavailable(f'no service port {port} found for service "{name}"')
        port = named[0].get("name") or ""
    item = await context.services.store.get(endpoints.storage.key(context.info.namespace, name))
    subsets = (endpoints.item(item).get("subsets") or ()) if item is not None else ()
    found = [
        (address, each["port"])
        for subset in subsets
        for each in subset.get("ports") or ()
        if (each.get("name") or "") == port
        for address in subset.get("addresses") or ()
    ]
    if not found:
        raise ServiceUnavailable(f'no endpoints available for service "{context.info.name}"')
    address, number = found[int(context.services.ids.random() * len(found))]
    target = address.get("targetRef") or {}
    if target.get("kind") != "Pod":
        text = f'the endpoint {address["ip"]} of service "{name}" is no pod: the server connects only to pods'
        raise ServiceUnavailable(text)
    item = await context.services.store.get(pods.storage.key(target["namespace"], target["name"]))
    if item is None:
        raise ServiceUnavailable(f'no endpoints available for service "{context.info.name}"')
    return _Destination(pods.item(item), number)


def _core(context: Context, plural: str) -> Resource:
    found = context.services.registry.resource("", "v1", plural)
    assert found is not None, f"{plural} are always served"
    return found
