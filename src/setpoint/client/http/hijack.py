"""A request with a connection that becomes a stream of bytes in both directions, as container engines use for `exec`
and `attach`.

Unread bytes are bounded: above the limit, reading from the peer pauses. Either side can close its half and continue
with the other half.
"""

from collections.abc import Callable, Mapping

from setpoint.client.http.upgrade import Upgrade
from setpoint.client.transport import Refused, TransportError

_MUCH = 1 << 20


class Hijacked(Upgrade):
    """The byte stream of a hijacked connection."""

    def __init__(self) -> None:
        super().__init__()
        self.content_type = ""
        self._is_open = False
        self._failure: TransportError | None = None
        self._paused = False

    # Called by the transport.

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and not self._ended:
            self._failure = TransportError(f"the connection broke: {exc}", sent=True)
        self._ended = True
        self._writable.set()
        self._wake()

    def eof_received(self) -> bool:
        # The peer has closed its half; pending output can still be sent.
        self._ended = True
        self._wake()
        return True

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._is_open and len(self._received) > _MUCH and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    # Called by users.

    async def begin(self, request: Callable[[Mapping[str, str]], bytes]) -> None:
        """Requests the stream. `request` builds the request with the given additional headers. Raises Refused,
        TransportError."""
        try:
            self._transport.write(request({"connection": "Upgrade", "upgrade": "tcp"}))
            answer = await self._read_head("a stream")
            # Some engines answer 101, others 200.
            if answer.status not in (101, 200):
                raise Refused(await self._read_refusal(answer))
        except BaseException:
            self.abort()
            raise
        self.content_type = answer.headers.get("content-type", "")
        self._is_open = True

    async def read(self) -> bytes:
        """Returns the received bytes, or `b""` once the peer has closed its half. Raises TransportError."""
        while not self._received:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return b""
            await self._wait()
        data = bytes(self._received)
        self._received.clear()
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Sends bytes, and waits while the peer reads slowly. Raises TransportError."""
        if self._transport.is_closing():
            raise self._failure or TransportError("the stream is closed", sent=False)
        self._transport.write(data)
        await self._writable.wait()

    def write_eof(self) -> None:
        """Closes our half of the stream."""
        if not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()
