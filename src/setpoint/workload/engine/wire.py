"""Requests to an engine: JSON requests and responses, streams of JSON, and hijacked connections.

Every failure is an `EngineError`: of the type for its status and message, or `EngineLost` if there was no response.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias
from urllib.parse import quote

from setpoint.client.http.endpoint import Endpoint
from setpoint.client.http.transport import HttpTransport
from setpoint.client.transport import Answer, Call, Refused, Stream, TransportError
from setpoint.workload.engine.errors import EngineLost, error_of

Query: TypeAlias = Mapping[str, str | int | bool | Sequence[str] | None]
# The timeouts of ordinary requests, and of those that may wait for programs and disks.
USUAL_SECONDS = 30.0
SLOW_SECONDS = 600.0
# Podman's own API is versioned separately.
_LIBPOD_VERSION = "/v4.0.0"


class ByteStream(Protocol):
    """A bidirectional byte stream. Its methods raise TransportError."""

    async def read(self) -> bytes:
        """Returns the received bytes; empty at the end of the stream."""

    async def write(self, data: bytes) -> None:
        """Sends bytes; waits while the other side is slow."""

    def write_eof(self) -> None:
        """Closes the sending half."""


class Wire:
    """The connection to one engine."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        # The API version, e.g. `/v1.41`, once selected; before that the engine uses its default.
        self.prefix = ""
        # The name of the engine, once known: docker or podman.
        self.engine = ""
        self._transport = HttpTransport(endpoint)

    async def close(self) -> None:
        await self._transport.close()

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> Answer:
        """Sends a request and returns the response. A body that is not bytes is sent as JSON."""
        try:
            answer = await self._transport.send(self._call(method, path, query, body, headers, timeout))
        except TransportError as error:
            raise EngineLost(str(error)) from None
        return _checked(answer)

    async def json(self, method: str, path: str, query: Query | None = None, **more: Any) -> Any:
        """Returns the JSON of the response to a request."""
        answer = await self.request(method, path, query, **more)
        return _parsed(answer.body)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        *,
        body: object = None,
        pieces: AsyncIterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = USUAL_SECONDS,
    ) -> AsyncIterator[Stream]:
        """Sends a request and streams the response. `pieces` is a streamed request body."""
        call = self._call(method, path, query, body, headers, timeout)
        try:
            opened = self._transport.stream(call) if pieces is None else self._transport.upload(call, pieces)
            async with opened as stream:
                _checked(stream.answer)
                yield stream
        except TransportError as error:
            raise EngineLost(str(error)) from None

    @asynccontextmanager
    async def hijack(self, path: str, query: Query | None = None, *, body: object = None) -> AsyncIterator[ByteStream]:
        """Sends a request that turns the connection into a bidirectional stream."""
        call = self._call("POST", path, query, body, None, USUAL_SECONDS)
        try:
            async with self._transport.hijack(call) as stream:
                yield stream
        except Refused as refused:
            raise error_of(refused.answer.status, refused.answer.body) from None
        except TransportError as error:
            raise EngineLost(str(error)) from None

    def _call(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: object,
        headers: Mapping[str, str] | None,
        timeout: float | None,
    ) -> Call:
        sent: dict[str, str] = dict(headers or {})
        data = b""
        if isinstance(body, bytes):
            data = body
        elif body is not None:
            data = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        prefix = _LIBPOD_VERSION if path.startswith("/libpod/") else self.prefix
        return Call(method, prefix + path, _pairs(query or {}), sent, data, timeout)


def segment(name: str) -> str:
    """Returns a name quoted as a part of a path. Image names keep their slashes, as engines require."""
    return quote(name, safe="/:@")


def _pairs(query: Query) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        if value is None or value is False:
            continue
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        pairs += [(name, "true" if each is True else str(each)) for each in values]
    return pairs


def _checked(answer: Answer) -> Answer:
    # 304: the resource already has the requested state.
    if answer.status < 300 or answer.status == 304:
        return answer
    raise error_of(answer.status, answer.body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise EngineLost(f"the engine's response is not valid JSON: {body[:80]!r}") from None


async def json_lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[Any]:
    """Yields the JSON values of a stream, with or without line breaks between them."""
    decoder = json.JSONDecoder()
    text = bytearray()
    async for piece in pieces:
        text += piece
        *lines, rest = text.split(b"\n")
        for line in lines:
            for value in _values(decoder, line.decode(errors="replace")):
                yield value
        text = bytearray(rest)
    for value in _values(decoder, text.decode(errors="replace")):
        yield value


def _values(decoder: json.JSONDecoder, line: str) -> list[Any]:
    found = []
    line = line.strip()
    while line:
        try:
            value, end = decoder.raw_decode(line)
        except ValueError:
            raise EngineLost(f"the engine's stream is not valid JSON: {line[:80]!r}") from None
        found.append(value)
        line = line[end:].lstrip()
    return found
