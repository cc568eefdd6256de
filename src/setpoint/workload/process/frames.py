"""Messages with descriptors on a stream socket, which every system has; sequenced packets exist on Linux only.

A frame is the length of its message, the number of its descriptors, and the message. Descriptors arrive with the first
bytes of their frame at the latest.
"""

import os
import socket
import sys
from collections import deque
from collections.abc import Iterator

_LENGTH_BYTES = 4
_HEAD_BYTES = _LENGTH_BYTES + 1
_READ_BYTES = 1 << 16
_MOST_DESCRIPTORS = 64


def frame(message: bytes, descriptors: int = 0) -> bytes:
    """Returns the frame of a message with that many descriptors."""
    return len(message).to_bytes(_LENGTH_BYTES, "little") + bytes((descriptors,)) + message


class Frames:
    """The received part of a stream."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._data = bytearray()
        self._descriptors: deque[int] = deque()

    def receive(self, flags: int = 0) -> bool:
        """Reads once from the socket. Returns False at the end of the stream. Raises OSError."""
        size = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
        data, ancillary, _, _ = self._connection.recvmsg(_READ_BYTES, size, flags)
        for _, _, item in ancillary:
            for place in range(0, len(item) - 3, 4):
                descriptor = int.from_bytes(item[place : place + 4], sys.byteorder)
                os.set_inheritable(descriptor, False)
                self._descriptors.append(descriptor)
        self._data += data
        return bool(data)

    def messages(self) -> Iterator[tuple[bytes, list[int]]]:
        """Yields the complete messages. Their receiver closes the descriptors."""
        while len(self._data) >= _HEAD_BYTES:
            length, number = int.from_bytes(self._data[:_LENGTH_BYTES], "little"), self._data[_LENGTH_BYTES]
            if len(self._data) < _HEAD_BYTES + length:
                return
            message = bytes(self._data[_HEAD_BYTES : _HEAD_BYTES + length])
            del self._data[: _HEAD_BYTES + length]
            yield message, [self._descriptors.popleft() for _ in range(number)]
