"""The life of one Executable as its controller knows it; the status of the object is what this amounts to.

A life begins with a start and ends with an exit. It may be followed by another: because the restart policy says so, a
probe found the process dead, somebody asked for it, or a file changed. The first two wait, longer each time, until a
life was long enough to count as good.
"""

import asyncio
import signal
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.controllers.running import Run
from setpoint.workload.environment import Environment
from setpoint.workload.kinds.executable import FINAL, ExecutableSpec, ExecutableState, ExecutableStatus
from setpoint.workload.kinds.parts import EnvVar, HealthStatus, RestartBackoff
from setpoint.workload.probes.prober import Probing
from setpoint.workload.process.command import Exit
from setpoint.workload.proxy.ports import Reservation

# Exit codes of what a signal ended, as shells count them.
_SIGNALLED = 128


@dataclass
class Execution:
    """One Executable and what runs for it."""

    uid: str
    name: str
    state: ExecutableState = ""
    # Why it is so, for the conditions.
    reason: str = "Pending"
    message: str = "it has not been looked at yet"
    run: Run | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    restarts: int = 0
    last_exit_code: int | None = None
    # When it is started again, by the clock's monotonic time and by the clock on the wall.
    due: float | None = None
    due_at: datetime | None = None
    wait: timedelta | None = None
    began: float = 0.0
    # Why it is being stopped only to be started again; and whether the next start waits.
    restarting: str = ""
    restart_waits: bool = False
    # The last request for a restart that was obeyed.
    obeyed: str = ""
    stopping: "asyncio.Task[str] | None" = None
    # Done when the process has ended with which it is to end.
    monitored: "asyncio.Future[Any] | None" = None
    ports: dict[str, Reservation] = field(default_factory=dict)
    environment: Environment | None = None
    args: list[str] = field(default_factory=list)
    probing: Probing | None = None
    files: tuple[str, str] = ("", "")
    terminal: str = ""
    # The Services that it may have an Endpoint for.
    served: set[str] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        return self.state in FINAL

    def becomes(self, state: ExecutableState, reason: str, message: str) -> bool:
        """Whether that is news."""
        was = (self.state, self.reason, self.message)
        self.state, self.reason, self.message = state, reason, message
        return was != (state, reason, message)

    def starts_anew(self) -> None:
        """Another life begins; what is known of the last one stays only as its exit code."""
        self.last_exit_code = self.exit_code
        self.exit_code = self.started_at = self.finished_at = None
        self.run, self.due, self.due_at, self.restarting = None, None, None, ""
        self.restarts += 1
        self.state = "Starting"

    def ended(self, exit: Exit) -> str:  # noqa: A002 - what it is
        """Takes over how a life ended; the same in words."""
        self.finished_at = exit.at
        self.close_probing()
        if exit.signal is not None:
            self.exit_code = _SIGNALLED + exit.signal
            return f"it was ended by {_signal_name(exit.signal)}"
        self.exit_code = exit.code
        return "it ended; its exit code is not known" if exit.code is None else f"it ended with exit code {exit.code}"

    def next_wait(self, backoff: RestartBackoff, lived: float) -> float:
        """Seconds until the next start: twice as long as the last time, unless that life was a good one."""
        self.wait = next_wait(self.wait, backoff, lived)
        return self.wait.total_seconds()

    def close_probing(self) -> None:
        if self.probing is not None:
            self.probing.close()

    def release_ports(self) -> None:
        """Lets the process have the ports that were kept for it."""
        for each in self.ports.values():
            each.release()

    @property
    def health(self) -> HealthStatus:
        """How well it is, by DCP's rules."""
        if self.state == "Running":
            return self.probing.health if self.probing is not None else "Healthy"
        if self.state == "FailedToStart" or (self.state == "Finished" and self.exit_code):
            return "Unhealthy"
        return "Caution"

    def status(self) -> ExecutableStatus:
        """What the object says, but for its conditions."""
        run = self.run
        return ExecutableStatus(
            execution_id=run.id if run is not None else "",
            pid=run.pid if run is not None else None,
            state=self.state,
            startup_timestamp=_moment(self.started_at),
            finish_timestamp=_moment(self.finished_at),
            exit_code=self.exit_code,
            std_out_file=self.files[0],
            std_err_file=self.files[1],
            terminal_socket_path=self.terminal,
            effective_env=[EnvVar(name=name, value=value) for name, value in sorted(self._shown().items())],
            effective_args=self.args,
            health_status=self.health,
            health_probe_results=self.probing.results if self.probing is not None else [],
            restart_count=self.restarts,
            last_exit_code=self.last_exit_code,
            next_restart_time=_moment(self.due_at),
            identity_time=run.identity if run is not None else "",
        )

    def _shown(self) -> dict[str, str]:
        return self.environment.shown if self.environment is not None else {}

    def remember(self, status: ExecutableStatus | None) -> None:
        """Takes over what an earlier control plane reported of it."""
        if status is None:
            return
        self.state = status.state
        self.restarts, self.last_exit_code, self.exit_code = (
            status.restart_count,
            status.last_exit_code,
            status.exit_code,
        )
        self.started_at, self.finished_at = status.startup_timestamp, status.finish_timestamp
        self.args = list(status.effective_args)
        self.files = status.std_out_file, status.std_err_file
        said = {each.type: each for each in status.conditions}
        if "Started" in said:
            self.reason, self.message = said["Started"].reason, said["Started"].message


def should_restart(spec: ExecutableSpec, exit_code: int | None) -> bool:
    """Whether the policy starts what has ended so again."""
    return spec.restart_policy == "Always" or (spec.restart_policy == "OnFailure" and exit_code != 0)


def signal_of(name: str) -> int:
    """The number of a signal. Raises ValueError, with the remedy."""
    try:
        return int(signal.Signals[name])
    except KeyError:
        raise ValueError(f"stopSignal {name} is no signal of this machine: use SIGTERM, SIGINT or SIGQUIT") from None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _moment(at: datetime | None) -> MicroTime | None:
    return None if at is None else MicroTime.of(at)
