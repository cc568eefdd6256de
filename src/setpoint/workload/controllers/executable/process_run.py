"""The running process of an Executable: started by this control plane, taken over from an earlier one, or a session of
an IDE."""

import asyncio
from typing import Protocol

from setpoint.workload.process.command import Exit
from setpoint.workload.process.processes import Processes, Running
from setpoint.workload.terminal.screen import Screen


class ExecutableRun(Protocol):
    """A running process or IDE session."""

    # The execution id for clients, and the pid if known.
    id: str
    pid: int | None
    # Identifies the process uniquely, if the process is on this machine.
    identity: str
    exited: "asyncio.Future[Exit]"
    # Its terminal, if this control plane provides one.
    screen: Screen | None

    @property
    def running(self) -> Running | None:
        """The process, if this control plane started or took over the process."""

    async def stop(self, signal: int, grace: float) -> str:
        """Stops the run. Returns a message that lists the processes still running, or an empty string."""


class ProcessRun:
    """A process of this machine."""

    def __init__(self, processes: Processes, running: Running, screen: Screen | None = None) -> None:
        self._processes, self.running, self.screen = processes, running, screen
        self.pid: int | None = running.identity.pid
        self.id = str(self.pid)
        self.identity = running.identity.text()
        self.exited = running.exited

    async def stop(self, signal: int, grace: float) -> str:
        stopped = await self._processes.stop(self.running, signal=signal, grace=grace)
        return ", ".join(stopped.left)
