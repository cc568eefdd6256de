"""Opens connections through the standard streams of a command, such as `docker system dial-stdio`.

One process carries one connection, and ends with the connection.
"""

import asyncio
import socket
import subprocess
from collections.abc import Callable, Sequence
from typing import TypeVar

P = TypeVar("P", bound=asyncio.Protocol)


async def dial_command(command: Sequence[str], factory: Callable[[], P]) -> P:
    """Starts the command and opens a connection with the protocol that `factory` creates. Raises OSError if the start
    fails; a later failure of the command ends the connection."""
    ours, theirs = socket.socketpair()
    try:
        # A socket for both directions: the end of one direction does not end the other.
        process = subprocess.Popen(
            command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL, start_new_session=True
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    ours.setblocking(False)
    inner = factory()
    try:
        await asyncio.get_running_loop().create_connection(lambda: _Carried(inner, process), sock=ours)
    except BaseException:  # such as a cancelled request: no process remains without a connection
        ours.close()
        process.kill()
        raise
    return inner


class _Carried(asyncio.Protocol):
    """Forwards all calls to the protocol of the connection, and ends the process with the connection."""

    def __init__(self, inner: asyncio.Protocol, process: "subprocess.Popen[bytes]") -> None:
        self._inner, self._process = inner, process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._process.terminate()
        # Another thread waits for the end, which takes a moment.
        asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        self._inner.connection_lost(exc)
