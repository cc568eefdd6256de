"""Sends requests to extension API servers: finds the address of the Service and presents the client certificate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from setpoint.server.aggregation.user_headers import user_lines
from setpoint.server.outbound.call_metrics import CallMetrics
from setpoint.server.outbound.client import Client, OpenAnswer, OutboundTarget, within
from setpoint.server.ports import User
from setpoint.server.registry.remote_version import RemoteServer
from setpoint.server.request.context import Services

if TYPE_CHECKING:
    from setpoint.client.http.websocket import WebSocket

# The user of the server's own requests.
AGGREGATOR = User("system:kube-aggregator", ("system:masters",))
# The maximum bytes of an error, and of a document that the server itself reads.
_BODY_BYTES = 16 << 20


class TooLargeError(Exception):
    """A document of an extension API server is too large."""


class RemoteClient:
    """The connections of one server to extension API servers."""

    def __init__(self, services: Services) -> None:
        self._services = services
        metrics = CallMetrics()
        services.measured.append(metrics)
        self._client = Client(services.clock, body_bytes=_BODY_BYTES, offline=services.offline, metrics=metrics)

    def close(self) -> None:
        """Closes all connections, which aborts pending requests."""
        self._client.close()

    async def open(
        self, server: RemoteServer, method: str, target: str, user: User, headers: str, body: bytes, timeout: float
    ) -> OpenAnswer:
        """Sends a request of a user and returns the answer after its head. Raises ServiceError, CallFailed,
        AuthoritiesError or BadRequest."""
        lines = user_lines(user) + headers
        return await self._client.open(method, await self._endpoint(server), target, lines, body, timeout=timeout)

    async def open_socket(
        self, server: RemoteServer, target: str, user: User, headers: str, protocols: Sequence[str], timeout: float
    ) -> "WebSocket":
        """Opens a WebSocket for a user. Raises as `open` does, and Refused."""
        lines = user_lines(user) + headers
        return await self._client.open_socket(await self._endpoint(server), target, lines, protocols, timeout=timeout)

    async def _endpoint(self, server: RemoteServer) -> OutboundTarget:
        """Raises ServiceError."""
        address = self._services.resolver.resolve(server.namespace, server.name, server.port)
        pair = await self._services.front_proxy() if self._services.front_proxy is not None else b""
        url = f"https://{server.host}:{server.port}"
        return OutboundTarget(url, server.authorities, address, server.is_insecure, pair)

    async def read(
        self, server: RemoteServer, path: str, accept: str, timeout: float, etag: str = ""
    ) -> tuple[OpenAnswer, bytes]:
        """Returns the answer to a GET of the server itself, and its body. `etag` is that of a known document. Raises as
        `open` does, Broken, TooLargeError and, if the body does not arrive in time, TimeoutError."""
        headers = f"Accept: {accept}\r\n" + (f"If-None-Match: {etag}\r\n" if etag else "")
        return await within(self._services.clock, timeout, self._read(server, path, headers, timeout))

    async def _read(self, server: RemoteServer, path: str, headers: str, timeout: float) -> tuple[OpenAnswer, bytes]:
        answer = await self.open(server, "GET", path, AGGREGATOR, headers, b"", timeout)
        try:
            body = bytearray()
            async for piece in answer.pieces():
                body += piece
                if len(body) > _BODY_BYTES:
                    raise TooLargeError(f"the document {path} has more than {_BODY_BYTES} bytes")
            return answer, bytes(body)
        finally:
            answer.close()
