"""The connection to an IDE, configured by environment variables: requests, and the WebSocket of notifications."""

import binascii
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from setpoint.client.http.endpoint import EndpointError, endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Answer, Call, Refused, Socket, TransportError
from setpoint.objects.ids import Ids
from setpoint.workload.ide.messages import VERSIONS, Info, RunSession, failure
from setpoint.workload.ide.offer import CERTIFICATE, PORT, TOKEN
from setpoint.workload.process.command import StartError

_REQUEST_SECONDS = "DCP_IDE_REQUEST_TIMEOUT_SECONDS"
_INSTANCE = "microsoft-developer-dcp-instance-id"
_DEFAULT_SECONDS = 120.0
_SOCKET_SECONDS = 20.0


def unavailable(why: str) -> StartError:
    return StartError("IDENotAvailable", why, "start the control plane from the IDE, or use executionType Process")


class IdeConnection:
    """The connection to one IDE. Raises StartError if the environment variables are invalid."""

    def __init__(self, environ: Mapping[str, str], ids: Ids) -> None:
        port = environ[PORT].strip().removeprefix("localhost:")
        seconds = environ.get(_REQUEST_SECONDS, "")
        self._seconds = float(seconds) if seconds.isdecimal() and int(seconds) else _DEFAULT_SECONDS
        self._headers = {
            "authorization": f"Bearer {environ[TOKEN].strip()}",
            _INSTANCE: f"setpoint-{ids.suffix()}{ids.suffix()}",
        }
        certificate = environ.get(CERTIFICATE, "")
        scheme = "https" if certificate else "http"
        tls = _trusting(certificate) if certificate else None
        try:
            where = endpoint(f"{scheme}://localhost:{port}", tls=tls)
        except EndpointError:
            raise unavailable(f"{PORT} is {port!r}, which is not a valid port") from None
        self._transport = HttpTransport(where)
        self.version = ""

    async def info(self) -> Info:
        """Returns the IDE's information and selects the protocol version. Raises StartError."""
        answer = await self._request("GET", "/info")
        try:
            found = msgspec.json.decode(answer.body, type=Info)
        except msgspec.DecodeError as error:
            raise unavailable(f"the IDE's response to /info is invalid ({error})") from None
        if answer.status != 200 or not found.version:
            spoken = ", ".join(found.protocols_supported) or "no known version"
            raise unavailable(f"the IDE supports {spoken}; supported here: {', '.join(VERSIONS)}")
        self.version = found.version
        return found

    async def run(self, session: RunSession) -> str:
        """Starts a session and returns its id. Raises StartError."""
        answer = await self._request("PUT", "/run_session", msgspec.json.encode(session))
        if answer.status not in (200, 201):
            why = failure(answer.body) or "no reason given"
            message = f"the IDE refused the session (status {answer.status}): {why}"
            raise StartError("IDERefused", message, "check the log of the IDE")
        location = answer.headers.get("location", "").partition("?")[0].rstrip("/")
        id_ = location.rpartition("/")[2]
        if not id_:
            raise StartError("IDERefused", "the IDE's response has no session id", "update the IDE's extension")
        return id_

    async def stop(self, id_: str) -> bool:
        """Stops a session. Returns False if the session does not exist. Raises StartError."""
        answer = await self._request("DELETE", f"/run_session/{id_}")
        if answer.status not in (200, 204):
            raise StartError(
                "IDERefused",
                f"the IDE did not end session {id_}: {failure(answer.body)}",
                "stop the session in the IDE",
            )
        return answer.status == 200

    @asynccontextmanager
    async def notifications(self) -> AsyncIterator[Socket]:
        """Opens the WebSocket of notifications. Raises StartError."""
        call = Call("GET", "/run_session/notify", self._query(), self._headers, timeout=_SOCKET_SECONDS)
        try:
            async with self._transport.socket(call, ()) as socket:
                yield socket
        except (TransportError, Refused, OSError) as error:
            raise unavailable(f"cannot open the IDE's notifications: {error}") from None

    async def close(self) -> None:
        await self._transport.close()

    def _query(self) -> list[tuple[str, str]]:
        return [("api-version", self.version)] if self.version else []

    async def _request(self, method: str, path: str, body: bytes = b"") -> Answer:
        headers = {**self._headers, "content-type": "application/json"} if body else self._headers
        try:
            return await self._transport.send(Call(method, path, self._query(), headers, body, self._seconds))
        except (TransportError, OSError) as error:
            raise unavailable(f"the IDE cannot be reached: {error}") from None


def _trusting(text: str) -> ssl.SSLContext:
    """Returns a TLS context that trusts only one certificate."""
    try:
        context = ssl.create_default_context(cadata=b64decode(text, validate=True))
    except (binascii.Error, ValueError, ssl.SSLError) as error:
        raise unavailable(f"{CERTIFICATE} is not a valid certificate ({error})") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
