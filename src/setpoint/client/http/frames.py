"""The frames of a WebSocket (RFC 6455), of either side, by the protocol of `websockets`: no input or output here.

Both sides of ours use it, once the handshake is over. Pings are answered, and so is the end. Whatever the protocol
forbids is answered with the code that it has for that, and ends the WebSocket. This module is imported when the first
WebSocket is opened, for few programs open one.
"""

import logging

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

CLIENT, SERVER = Side.CLIENT, Side.SERVER

# No part of the tree of loggers: in `DEBUG` the library would log the messages themselves, and those are not for logs.
_log = logging.Logger("setpoint.websocket", logging.ERROR)


class Frames:
    """One side of a WebSocket. Messages are bytes; one that is longer than `max_bytes` ends it."""

    def __init__(self, side: Side, max_bytes: int) -> None:
        self._protocol = Protocol(side, max_size=max_bytes, logger=_log)
        # The message whose frames are still coming, and its kind.
        self._begun = bytearray()
        self._kind = Opcode.BINARY
        self._fault = ""

    @property
    def is_open(self) -> bool:
        """False once either side has said goodbye, or the other one has broken the protocol."""
        return self._protocol.state is State.OPEN

    @property
    def has_ended(self) -> bool:
        """True once the other side has said goodbye, or has broken the protocol."""
        return self._protocol.close_rcvd is not None or bool(self.fault)

    @property
    def fault(self) -> str:
        """What the other side did that the protocol forbids; empty if it did nothing of the sort."""
        error = self._protocol.parser_exc
        return self._fault if error is None else str(error) or type(error).__name__

    def receive(self, data: bytes) -> list[bytes]:
        """The messages that are whole now. There may be `output` afterwards."""
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
                self._fault = "a text is not in UTF-8"
                self._protocol.fail(CloseCode.INVALID_DATA)
                break
            found.append(message)
        return found

    def output(self) -> bytes:
        """What is to be written since the last call."""
        return b"".join(self._protocol.data_to_send())

    def binary(self, message: bytes) -> None:
        """Sends a message; none once the WebSocket is closed."""
        if self.is_open:
            self._protocol.send_binary(message)

    def text(self, message: bytes) -> None:
        """Sends a message that is a text; none once the WebSocket is closed."""
        if self.is_open:
            self._protocol.send_text(message)

    def ping(self) -> None:
        """Has the other side answer."""
        if self.is_open:
            self._protocol.send_ping(b"")

    def close(self) -> None:
        """Says goodbye, if the other side has not."""
        if self.is_open:
            self._protocol.send_close(CloseCode.NORMAL_CLOSURE)


def _is_utf8(message: bytes) -> bool:
    try:
        message.decode()
    except UnicodeDecodeError:
        return False
    return True
