"""The terminal of a container: provided by the engine, and bridged to a socket while the container runs."""

import asyncio
from contextlib import suppress

from setpoint.node.streams import Size
from setpoint.objects.clock import timeout
from setpoint.workload.engine.attachment import Attached
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.kinds.parts import TerminalSpec
from setpoint.workload.runtime import Machine
from setpoint.workload.terminal.bridge import Bridge
from setpoint.workload.terminal.screen import Screen
from setpoint.workload.terminal.terminals import open_bridge, size_of

# The time to wait for the last output after the end of the container.
_LAST_SECONDS = 1.0


class ContainerTerminal:
    """The terminal of one run of a container. Begun before the container starts, so that no output is missed."""

    def __init__(self, machine: Machine, engine: Engine, container: str, spec: TerminalSpec) -> None:
        self._machine, self._engine, self._container, self._spec = machine, engine, container, spec
        self.screen = Screen(self, size_of(spec))
        self._bridge: Bridge | None = None
        self._attached: Attached | None = None
        self._reading: asyncio.Task[None] | None = None
        self._resizing: set[asyncio.Task[None]] = set()

    @property
    def path(self) -> str:
        """The path of the socket."""
        return self._bridge.path if self._bridge is not None else ""

    async def begin(self, uid: str) -> None:
        """Opens the socket and attaches to the container. Raises StartError or EngineError."""
        path = str(self._machine.path(self._spec.uds_path)) if self._spec.uds_path else ""
        assert self._machine.terminals is not None
        path = path or self._machine.terminals.socket_path(uid)
        self._bridge = await open_bridge(self.screen, self._spec, path, self._machine.clock)
        attached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.ensure_future(self._read(attached))
        await asyncio.wait((attached, self._reading), return_when=asyncio.FIRST_COMPLETED)
        if not attached.done():
            self._reading.result()

    async def started(self) -> None:
        """Sets the size of the terminal after the start of the container."""
        await self._resize(self.screen.size)

    async def end(self, code: int | None) -> None:
        """Shows the remaining output and the exit code, and closes the socket, after the end of the container."""
        if self._reading is not None:
            with suppress(TimeoutError):
                async with timeout(self._machine.clock, _LAST_SECONDS):
                    await asyncio.wait((self._reading,))
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self.screen.end(code or 0)
        if self._bridge is not None:
            await self._bridge.close()

    # Called by the screen

    async def write(self, data: bytes) -> None:
        if self._attached is None:
            raise BrokenPipeError("the container is not attached")
        try:
            await self._attached.write(data)
        except EngineError as error:
            raise BrokenPipeError(error.message) from None

    def resize(self, size: Size) -> None:
        task = asyncio.ensure_future(self._resize(size))
        self._resizing.add(task)
        task.add_done_callback(self._resizing.discard)

    async def _resize(self, size: Size) -> None:
        # A container that is not running has no terminal to resize.
        with suppress(EngineError):
            await self._engine.containers.resize(self._container, *size)

    async def _read(self, attached: "asyncio.Future[None]") -> None:
        async with self._engine.containers.attach(self._container, stdin=True) as self._attached:
            attached.set_result(None)
            with suppress(EngineError):
                async for _, data in self._attached:
                    self.screen.on_output(data)
        self._attached = None
