"""A small HTTP/1.1 client, which sends to two servers before the client reads the first answer.

Libraries were several times slower, and hide the order and number of headers.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SECONDS = 15.0


class Address(NamedTuple):
    """The address of a server; with the certificate of its authority if the server uses TLS."""

    host: str
    port: int
    authority: Path | None = None

    def connect(self) -> socket.socket:
        plain = socket.create_connection((self.host, self.port), SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.authority is None:
            return plain
        return ssl.create_default_context(cafile=self.authority).wrap_socket(plain, server_hostname=self.host)


class Answer(NamedTuple):
    """The answer to a request. Code 0: the server closed the connection without an answer."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> list[str]:
        """All values of a header, whose name is in lower case."""
        return [value for key, value in self.headers if key == name]


class Connection:
    """A connection that is kept open, and opened again if the server closed it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        self._rest = b""
        self._sent = b""

    def send(self, message: bytes) -> None:
        self._sent = message
        if self._socket is None:
            self._open()
        assert self._socket is not None
        try:
            self._socket.sendall(message)
        except OSError:
            self._open()
            self._socket.sendall(message)

    def receive(self, *, head: bool = False) -> Answer:
        """Reads the answer to the last request; `head`: that request was a HEAD."""
        try:
            return self._receive(head)
        except TimeoutError:
            self.close()
            return Answer(0, (), b"")
        except (OSError, EOFError):
            # The server may have closed an idle connection in the same moment.
            self._open()
            assert self._socket is not None
            try:
                self._socket.sendall(self._sent)
                return self._receive(head)
            except (OSError, EOFError):
                self.close()
                return Answer(0, (), b"")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""

    def frames(self, end: bytes, seconds: float) -> Iterator[bytes]:
        """Reads the lines of an open stream up to one that contains `end`, or until no line came for that long."""
        assert self._socket is not None
        self._socket.settimeout(seconds)
        text = b""
        with suppress(OSError, EOFError):
            for chunk in self._chunks():
                text += chunk
                *lines, text = text.split(b"\n")
                for line in lines:
                    yield line
                    if end in line:
                        return

    def head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        """Reads the status and the headers of an answer."""
        while b"\r\n\r\n" not in self._rest:
            self._read()
        raw, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = raw.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return int(first.split(" ", 2)[1]), tuple((key.lower(), value.strip()) for key, _, value in pairs)

    def _open(self) -> None:
        self.close()
        self._socket = self._address.connect()

    def _receive(self, head: bool) -> Answer:
        code, headers = self.head()
        while 100 <= code < 200 and code != 101:
            code, headers = self.head()
        found = dict(headers)
        if head or code in (204, 304):
            body = b""
        elif found.get("transfer-encoding") == "chunked":
            body = b"".join(self._chunks())
        elif "content-length" in found:
            body = self._exactly(int(found["content-length"]))
        else:
            body = self._to_the_end()
        if found.get("connection", "").lower() == "close":
            self.close()
        return Answer(code, headers, body)

    def _chunks(self) -> Iterator[bytes]:
        while True:
            while b"\r\n" not in self._rest:
                self._read()
            size, _, self._rest = self._rest.partition(b"\r\n")
            length = int(size.split(b";")[0], 16)
            chunk = self._exactly(length + 2)
            if not length:
                return
            yield chunk[:-2]

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._read()
        found, self._rest = self._rest[:size], self._rest[size:]
        return found

    def _to_the_end(self) -> bytes:
        with suppress(EOFError):
            while True:
                self._read()
        found, self._rest = self._rest, b""
        self.close()
        return found

    def _read(self) -> None:
        assert self._socket is not None
        piece = self._socket.recv(262_144)
        if not piece:
            raise EOFError
        self._rest += piece
