"""The output and input of a running container or of a running command in a container."""

from collections.abc import AsyncIterator

from setpoint.client.transport import TransportError
from setpoint.workload.engine.errors import EngineLost
from setpoint.workload.engine.output_stream import OutputChunk, outputs
from setpoint.workload.engine.wire import ByteStream, Wire


class Attached:
    """An attached program. Iteration yields its output until the program ends."""

    def __init__(self, wire: Wire, stream: ByteStream, resize_path: str, *, tty: bool) -> None:
        self._wire = wire
        self._stream = stream
        self._resize_path = resize_path
        self._tty = tty

    def __aiter__(self) -> AsyncIterator[OutputChunk]:
        return outputs(self._pieces(), tty=self._tty)

    async def _pieces(self) -> AsyncIterator[bytes]:
        try:
            while piece := await self._stream.read():
                yield piece
        except TransportError as error:
            raise EngineLost(str(error)) from None

    async def write(self, data: bytes) -> None:
        """Writes input; waits while the program is slow to read. Raises EngineLost."""
        try:
            await self._stream.write(data)
        except TransportError as error:
            raise EngineLost(str(error)) from None

    def end_input(self) -> None:
        """Closes the input."""
        self._stream.write_eof()

    async def resize(self, columns: int, rows: int) -> None:
        """Resizes the terminal."""
        await self._wire.request("POST", self._resize_path, {"w": columns, "h": rows})


class Exec(Attached):
    """A command in a container."""

    def __init__(self, wire: Wire, stream: ByteStream, id: str, *, tty: bool) -> None:  # noqa: A002 - the engine's word
        super().__init__(wire, stream, f"/exec/{id}/resize", tty=tty)
        self.id = id

    async def exit_code(self) -> int | None:
        """Returns the exit code, or None while the command runs."""
        found = await self._wire.json("GET", f"/exec/{self.id}/json")
        return None if found.get("Running") or found.get("ExitCode") is None else int(found["ExitCode"])

    async def pid(self) -> int:
        """Returns the pid on the engine's machine, or 0 if the engine does not report it."""
        return int((await self._wire.json("GET", f"/exec/{self.id}/json")).get("Pid") or 0)
