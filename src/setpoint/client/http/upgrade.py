"""The common part of connections that begin as a request and continue with another protocol: the head of the answer,
refusals, and waiting for more bytes."""

import asyncio

from setpoint.client.http.connection import MAX_HEAD_BYTES
from setpoint.client.http.dial import Dialled
from setpoint.client.transport import Answer, TransportError

_MAX_REFUSAL_BYTES = 1 << 20


class Upgrade(Dialled):
    """A connection for one request. `_received` holds the received, unread bytes."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._ended = False
        self._more: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def abort(self) -> None:
        """Closes the connection immediately."""
        self._ended = True
        self._transport.abort()
        self._wake()

    async def _read_head(self, wanted: str) -> Answer:
        """Returns the head of the answer. `wanted` names the requested protocol in errors."""
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            if self._ended or len(self._received) > MAX_HEAD_BYTES:
                raise TransportError(f"the server did not answer the request for {wanted}", sent=True)
            await self._wait()
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        del self._received[: end + 4]
        words = first.split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
            raise TransportError(f"the answer is not HTTP and begins with {first[:80]!r}", sent=True)
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return Answer(int(words[1]), headers)

    async def _read_refusal(self, answer: Answer) -> Answer:
        """Returns the answer with its body, if the body has a length."""
        length = answer.headers.get("content-length", "")
        wanted = min(int(length), _MAX_REFUSAL_BYTES) if length.isdigit() else 0
        while len(self._received) < wanted and not self._ended:
            await self._wait()
        return answer._replace(body=bytes(self._received[:wanted]))

    async def _wait(self) -> None:
        self._more = asyncio.get_running_loop().create_future()
        await self._more

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)
