"""Protocols of those that run Executables in other ways than as plain processes: in an IDE, or in a terminal."""

from collections.abc import Sequence
from typing import Protocol

from setpoint.workload.controllers.executable.lifecycle import Execution
from setpoint.workload.controllers.executable.process_run import Run
from setpoint.workload.kinds.executable import Executable
from setpoint.workload.process.command import Command
from setpoint.workload.process.pipes import Sink


class Runner(Protocol):
    """Runs Executables in its own way."""

    async def start(
        self, obj: Executable, execution: Execution, args: Sequence[str], stdout: Sink, stderr: Sink
    ) -> Run:
        """Starts one. Raises StartError."""


class Terminals(Protocol):
    """Runs Executables in terminals."""

    async def start(self, obj: Executable, execution: Execution, command: Command) -> Run:
        """Starts one. Raises StartError."""
