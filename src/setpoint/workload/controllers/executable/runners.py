"""Protocols of runners that run Executables in an IDE or in a terminal."""

from collections.abc import Sequence
from typing import Protocol

from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.controllers.executable.process_run import ExecutableRun
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.process.command import Command
from setpoint.workload.process.pipes import Sink


class Runner(Protocol):
    """Runs Executables in an IDE."""

    async def start(
        self, obj: Executable, execution: Execution, args: Sequence[str], stdout: Sink, stderr: Sink
    ) -> ExecutableRun:
        """Starts an Executable. Raises StartError."""


class Terminals(Protocol):
    """Runs Executables in terminals."""

    def socket_path(self, uid: str) -> str:
        """Returns the default path of the socket of a workload's terminal."""

    async def start(self, obj: Executable, execution: Execution, command: Command) -> ExecutableRun:
        """Starts an Executable. Raises StartError."""
