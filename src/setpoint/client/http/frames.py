"""The frames of a WebSocket (RFC 6455) for client and server, based on the sans-I/O protocol of `websockets`.

Both our client and our server use this module after the handshake. Pings and close frames are answered. A violation of
the protocol is answered with its close code and ends the WebSocket. This module is imported when the first WebSocket is
opened, because few programs open one.
"""

import logging

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

CLIENT, SERVER = Side.CLIENT, Side.SERVER

# This logger is outside the logger hierarchy: with `DEBUG` the library would log message contents, which may be secret.
_log = logging.Logger("setpoint.websocket", logging.ERROR)


class Frames:
    """One side of a WebSocket. Messages are bytes; a message longer than `max_bytes` ends the WebSocket."""

    def __init__(self, side: Side, max_bytes: int) -> None:
        self._protocol = Protocol(side, max_size=max_bytes, logger=_log)
        # The incomplete message, and its type.
        self._begun = bytearray()
        self._kind = Opcode.BINARY
        self._fault = ""

    @property
    def is_open(self) -> bool:
        """False once either side has sent a close frame, or the peer has violated the protocol."""
        return self._protocol.state is State.OPEN

    @property
    def has_ended(self) -> bool:
        """True once the peer has sent a close frame, or has violated the protocol."""
        return self._protocol.close_rcvd is not None or bool(self.fault)

    @property
    def fault(self) -> str:
        """The peer's violation of the protocol, or an empty string."""
        error = self._protocol.parser_exc
        return self._fault if error is None else str(error) or type(error).__name__

    def receive(self, data: bytes) -> list[bytes]:
        """Returns the messages that are complete now. Send `output` afterwards."""
        self._protocol.receive_data(data)
        found = []
        for frame in self._protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
                self._kind = frame.opcode
            elif frame.opcode is not Opcode.CONT:
                continue
            if not frame.fin:
                self._begun += frame.data
                continue
            message = bytes(self._begun + frame.data if self._begun else frame.data)
            self._begun.clear()
            if self._kind is Opcode.TEXT and not _is_utf8(message):
                self._fault = "a text message is not valid UTF-8"
                self._protocol.fail(CloseCode.INVALID_DATA)
                break
            found.append(message)
        return found

    def output(self) -> bytes:
        """Returns the bytes to write since the last call."""
        return b"".join(self._protocol.data_to_send())

    def binary(self, message: bytes) -> None:
        """Queues a binary message. Has no effect once the WebSocket is closed."""
        if self.is_open:
            self._protocol.send_binary(message)

    def text(self, message: bytes) -> None:
        """Queues a text message. Has no effect once the WebSocket is closed."""
        if self.is_open:
            self._protocol.send_text(message)

    def ping(self) -> None:
        """Queues a ping, which the peer answers."""
        if self.is_open:
            self._protocol.send_ping(b"")

    def close(self) -> None:
        """Queues a close frame, unless the WebSocket is closed already."""
        if self.is_open:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)


def _is_utf8(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
