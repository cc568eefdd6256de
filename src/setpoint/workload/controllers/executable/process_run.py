"""What runs for an Executable, whoever runs it: a process of ours, one that was taken over, or a session of an IDE."""

import asyncio
from typing import Protocol

from setpoint.workload.process.command import Exit
from setpoint.workload.process.processes import Processes, Running
from setpoint.workload.terminal.screen import Screen


class Run(Protocol):
    """Something that runs."""

    # What clients know it by, and the process where that is known.
    id: str
    pid: int | None
    # Names the process for ever, where it is one of this machine.
    identity: str
    exited: "asyncio.Future[Exit]"
    # Its terminal, where it has one of ours.
    screen: Screen | None

    @property
    def running(self) -> Running | None:
        """The process, where it is one of ours."""

    async def stop(self, signal: int, grace: float) -> str:
        """Ends it; what is left nevertheless, for people."""


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
