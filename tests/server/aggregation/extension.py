"""A small extension API server over TLS, with notes in memory. Authenticates the API server by its certificate."""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from tests.server.outbound.peer import authority
from websockets.utils import accept_key

from setpoint.client.http.frames import SERVER, Frames
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.server.message import Request, Response

GROUP, VERSION = "notes.example.dev", "v1"
ROOT = f"/apis/{GROUP}/{VERSION}"
NOTES = f"{ROOT}/namespaces/default/notes"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
API_SERVICE = f"{API_SERVICES}/{VERSION}.{GROUP}"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AUTHENTICATION = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "watch"]
_RESOURCES: list[Object] = [
    {
        "name": "notes",
        "singularName": "note",
        "namespaced": True,
        "kind": "Note",
        "verbs": _VERBS,
        "shortNames": ["nt"],
    },
    {"name": "notes/status", "singularName": "", "namespaced": True, "kind": "Note", "verbs": ["get"]},
]


class Received(NamedTuple):
    """One request: all header lines of a name are kept."""

    method: str
    path: str
    query: str
    headers: dict[str, list[str]]
    body: bytes
    # The common name of the verified client certificate.
    client: str

    @property
    def user(self) -> str:
        return self.headers.get("x-remote-user", [""])[0]


class ExtensionServer:
    """Serves while entered. `front_proxy` is the PEM of the authority that the clients' certificates need."""

    def __init__(self, front_proxy: str, *, aggregated: bool = False) -> None:
        self.received: list[Received] = []
        self.notes: dict[str, Object] = {}
        self.status = 200
        # The further answers by path: the status, the content type and the body.
        self.pages: dict[str, tuple[int, str, bytes]] = {}
        self.events: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.watches = 0
        self.port = 0
        # Set to hold back all answers.
        self.holds: asyncio.Event | None = None
        self._aggregated = aggregated
        self._front_proxy = front_proxy
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._context())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self._front_proxy)
        pair = authority().issue_server(["notes.extensions.svc"], datetime.now(UTC))
        with TemporaryDirectory() as folder:
            path = Path(folder, "pair.pem")
            path.write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(path)
        return context

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._tasks.add(task)
        await task

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = dict(part[0] for part in writer.get_extra_info("peercert")["subject"])
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *lines = head.strip().split("\r\n")
                headers: dict[str, list[str]] = {}
                for name, _, value in (each.partition(": ") for each in lines):
                    headers.setdefault(name.lower(), []).append(value)
                body = await reader.readexactly(int(headers.get("content-length", ["0"])[0]))
                method, target, _ = line.split()
                path, _, query = target.partition("?")
                request = Received(method, path, query, headers, body, subject["commonName"])
                self.received.append(request)
                if self.holds is not None and not path.startswith("/openapi") and path not in ("/apis", ROOT):
                    await self.holds.wait()
                if "upgrade" in headers:
                    await _echo(reader, writer, headers)
                    return
                if "watch=" in query:
                    await self._watch(writer)
                else:
                    writer.write(self._answer(request))
                await writer.drain()
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
            writer.transport.abort()

    async def _watch(self, writer: asyncio.StreamWriter) -> None:
        self.watches += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (event := await self.events.get()) is not None:
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    def _answer(self, request: Received) -> bytes:
        if self.status != 200:
            return _response(self.status, b"out of order", "text/plain")
        if request.path in self.pages:
            status, kind, body = self.pages[request.path]
            return _response(status, body, kind)
        found = self._tree(request)
        if found is None:
            return _response(404, b"404 page not found", "text/plain")
        aggregated = self._aggregated and request.path == "/apis"
        return _response(200, json.dumps(found).encode(), AGGREGATED if aggregated else "application/json")

    def _tree(self, request: Received) -> Object | None:
        name = request.path.removeprefix(f"{NOTES}/")
        match request.method, request.path:
            case "GET", "/apis" if self._aggregated:
                kind = {"group": "", "version": "", "kind": "Note"}
                resource = {"resource": "notes", "responseKind": kind, "scope": "Namespaced", "verbs": _VERBS}
                version = {"version": VERSION, "resources": [resource | {"singularResource": "note"}]}
                return {
                    "kind": "APIGroupDiscoveryList",
                    "items": [{"metadata": {"name": GROUP}, "versions": [version]}],
                }
            case "GET", path if path == ROOT:
                return {"kind": "APIResourceList", "groupVersion": f"{GROUP}/{VERSION}", "resources": _RESOURCES}
            case "GET", path if path in (NOTES, f"{ROOT}/notes"):
                return {
                    "kind": "NoteList",
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "metadata": {},
                    "items": [*self.notes.values()],
                }
            case "POST", path if path == NOTES:
                note: Object = json.loads(request.body)
                self.notes[note["metadata"]["name"]] = note
                return note
            case "DELETE", path if path == NOTES:
                self.notes.clear()
                return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
            case "DELETE", path if name in self.notes:
                return self.notes.pop(name)
            case "GET", path if name in self.notes:
                return self.notes[name]
        return None


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, list[str]]) -> None:
    """Accepts a WebSocket with the last protocol of the client, and returns its messages in capitals."""
    protocols = headers.get("sec-websocket-protocol", [""])[0].split(", ")
    if protocols == [""]:
        writer.write(_response(400, b"name a protocol", "text/plain"))
        return
    accepted = accept_key(headers["sec-websocket-key"][0])
    lines = (
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accepted}",
        f"Sec-WebSocket-Protocol: {protocols[-1]}",
    )
    writer.write("\r\n".join((*lines, "", "")).encode())
    frames = Frames(SERVER, 1 << 20)
    while not frames.has_ended and (data := await reader.read(1 << 16)):
        for message in frames.receive(data):
            frames.binary(message.upper())
        writer.write(frames.output())
    writer.close()


def _response(status: int, body: bytes, kind: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status} Whatever",
        f"Content-Length: {len(body)}",
        f"Content-Type: {kind}",
        "X-Own: yes",
        "",
        "",
    )
    return "\r\n".join(lines).encode() + body


def note(name: str) -> Object:
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Note", "metadata": {"name": name, "namespace": "default"}}


def api_service(**spec: Any) -> Object:
    """Returns the APIService of the extension server."""
    service = {"namespace": "extensions", "name": "notes"}
    bundle = b64encode(authority().pair.certificate).decode()
    given = {"group": GROUP, "version": VERSION, "groupPriorityMinimum": 100, "versionPriority": 10}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{VERSION}.{GROUP}"},
        "spec": given | {"service": service, "caBundle": bundle} | spec,
    }


async def front_proxy_authority(plane: ControlPlane) -> str:
    """Returns the authority that the ConfigMap publishes."""
    _, found = await ask(plane, "GET", _AUTHENTICATION)
    return str(found["data"]["requestheader-client-ca-file"])


async def respond(
    plane: ControlPlane, method: str, target: str, tree: Object | None = None, **headers: str
) -> Response:
    path, _, query = target.partition("?")
    body = b"" if tree is None else json.dumps(tree).encode()
    given = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return await plane.handler(Request(method, path, query, given, body))


async def ask(
    plane: ControlPlane, method: str, target: str, tree: Object | None = None, **headers: str
) -> tuple[int, Any]:
    response = await respond(plane, method, target, tree, **headers)
    body = response.body
    assert isinstance(body, bytes | list)
    whole = body if isinstance(body, bytes) else b"".join(body)
    return response.status, json.loads(whole) if "json" in response.content_type else whole.decode()


async def condition(plane: ControlPlane) -> Object:
    _, found = await ask(plane, "GET", API_SERVICE)
    known = (found.get("status") or {}).get("conditions") or [{}]
    return dict(known[0])


async def until(holds: Callable[[Object], bool], plane: ControlPlane) -> Object:
    """Waits until the condition of the APIService is as wanted, and returns the condition."""
    while not holds(found := await condition(plane)):
        await asyncio.sleep(0.01)
    return found


def has_reason(reason: str) -> Callable[[Object], bool]:
    return lambda found: found.get("reason") == reason
