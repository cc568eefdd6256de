"""Runs Executables in terminals: a process on a pseudo-terminal, bridged to a socket while the process runs."""

import asyncio
import os
import tempfile
from pathlib import Path

from setpoint.node.streams import Size
from setpoint.objects.clock import Clock
from setpoint.store.files import make_directory
from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.controllers.executable.process_run import ProcessRun
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.kinds.parts import TerminalSpec
from setpoint.workload.process.command import Command, Exit, StartError, Terminal
from setpoint.workload.runtime import Machine
from setpoint.workload.terminal.bridge import Bridge
from setpoint.workload.terminal.pty import Pty
from setpoint.workload.terminal.screen import Screen

# The maximum length of a Unix socket's path on Linux, without the terminating zero.
_LONGEST_PATH = 107
_COLUMNS, _ROWS = 80, 24
_SIGNALLED = 128


class _NullSink:
    """A sink without output: all output is written to the terminal."""

    def write(self, data: bytes) -> None:
        raise AssertionError("a process in a terminal has no other output")

    def close(self) -> None:
        """Has no effect."""


def size_of(spec: TerminalSpec) -> Size:
    """Returns the initial size of a terminal."""
    return Size(spec.cols or _COLUMNS, spec.rows or _ROWS)


async def open_bridge(screen: Screen, spec: TerminalSpec, path: str, clock: Clock) -> Bridge:
    """Opens the socket of a terminal. Raises StartError."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        message = f"the path of a socket is limited to {_LONGEST_PATH} bytes: {path}"
        raise StartError("BadTerminalSocket", message, "choose a shorter spec.terminal.udsPath")
    bridge = Bridge(screen, path, clock)
    if spec.socket_mode == "connect":
        bridge.dial()
        return bridge
    try:
        await bridge.listen()
    except OSError as error:
        message = f"cannot create the terminal socket {path}: {error.strerror or error}"
        raise StartError("BadTerminalSocket", message, "choose another spec.terminal.udsPath") from None
    return bridge


class Terminals:
    """The terminals of a control plane."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._open: dict[Bridge, Pty] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._own: tempfile.TemporaryDirectory[str] | None = None

    async def start(self, obj: Executable, execution: Execution, command: Command) -> ProcessRun:
        """Starts a process in a new terminal. Raises StartError."""
        spec = obj.spec.terminal
        assert spec is not None
        size = size_of(spec)
        try:
            pty = Pty(size)
        except OSError as error:
            remedy = "close some terminals, or raise kernel.pty.max"
            raise StartError("NoTerminal", f"cannot open a pseudo-terminal ({error.strerror})", remedy) from None
        screen = Screen(pty, size)
        try:
            path = str(self._machine.path(spec.uds_path)) if spec.uds_path else self.socket_path(execution.uid)
            bridge = await open_bridge(screen, spec, path, self._machine.clock)
        except BaseException:
            pty.close()
            raise
        try:
            env = dict(command.env)
            if env.get("TERM") in (None, "", "dumb"):
                env["TERM"] = "xterm-256color"
            placed = command._replace(terminal=Terminal(pty.device), env=env, stdin=False)
            running = await self._machine.processes.start(placed, _NullSink(), _NullSink())
        except BaseException:
            pty.close()
            await bridge.close()
            raise
        pty.begin(screen.on_output)
        self._open[bridge] = pty
        execution.terminal = bridge.path
        running.exited.add_done_callback(lambda exited: self._ended(bridge, screen, exited))
        return ProcessRun(self._machine.processes, running, screen)

    async def close(self) -> None:
        """Closes all terminals."""
        for bridge, pty in list(self._open.items()):
            pty.close()
            await bridge.close()
        self._open.clear()
        await asyncio.gather(*self._ending)
        if self._own is not None:
            self._own.cleanup()

    def socket_path(self, uid: str) -> str:
        """Returns the default path of a terminal's socket: in the directory of the control plane, unless the path would
        be too long."""
        name = f"terminal-{uid}.sock"
        here = self._machine.directory / name
        if len(os.fsencode(here)) <= _LONGEST_PATH:
            make_directory(self._machine.directory)
            return str(here)
        if self._own is None:
            self._own = tempfile.TemporaryDirectory(prefix="setpoint-")
        return str(Path(self._own.name) / name)

    def _ended(self, bridge: Bridge, screen: Screen, exited: "asyncio.Future[Exit]") -> None:
        """Shows the remaining output and the exit code after the end of a process."""
        pty = self._open.pop(bridge, None)
        if pty is None or exited.cancelled():
            return
        pty.close()
        code, signal, _ = exited.result()
        screen.end(_SIGNALLED + signal if signal is not None else code or 0)
        ending = asyncio.ensure_future(bridge.close())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
