"""What a controller knows of a workload whatever runs for it: where it is in its life, why, and the lives before.

A life begins with a start and ends with an exit. It may be followed by another: because the restart policy says so, a
probe found it dead, somebody asked for it, or a file changed. The first two wait, longer each time, until a life was
long enough to count as good.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.environment import Environment
from setpoint.workload.kinds.parts import Condition, EnvVar, RestartBackoff
from setpoint.workload.probes.prober import Probing


class Reported(Protocol):
    """What every status tells of a life."""

    state: Any
    restart_count: int
    last_exit_code: int | None
    exit_code: int | None
    startup_timestamp: MicroTime | None
    finish_timestamp: MicroTime | None
    effective_args: list[str]
    conditions: list[Condition]


@dataclass
class Life:
    """One object and what runs for it."""

    uid: str
    name: str
    # One of the states of its kind.
    state: Any = ""
    # Why it is so, for the conditions.
    reason: str = "Pending"
    message: str = "it has not been looked at yet"
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
    # Why it is stopped only to be started again; and whether the next start waits.
    restarting: str = ""
    restart_waits: bool = False
    # The last request for a restart that was obeyed.
    obeyed: str = ""
    # Done when the process has ended with which it is to end.
    monitored: "asyncio.Future[Any] | None" = None
    environment: Environment | None = None
    args: list[str] = field(default_factory=list)
    probing: Probing | None = None
    files: tuple[str, str] = ("", "")
    # The socket of its terminal.
    terminal: str = ""
    # The Services that it may have an Endpoint for.
    served: set[str] = field(default_factory=set)

    def becomes(self, state: Any, reason: str, message: str) -> bool:
        """Whether that is news."""
        was = (self.state, self.reason, self.message)
        self.state, self.reason, self.message = state, reason, message
        return was != (state, reason, message)

    def starts_anew(self) -> None:
        """Another life begins; what is known of the last one stays only as its exit code."""
        self.last_exit_code = self.exit_code
        self.exit_code = self.started_at = self.finished_at = None
        self.due, self.due_at, self.restarting, self.restart_waits = None, None, "", False
        self.restarts += 1
        self.state = "Starting"

    def next_wait(self, backoff: RestartBackoff, lived: float) -> float:
        """Seconds until the next start: twice as long as the last time, unless that life was a good one."""
        self.wait = next_wait(self.wait, backoff, lived)
        return self.wait.total_seconds()

    def close_probing(self) -> None:
        if self.probing is not None:
            self.probing.close()

    def effective_env(self) -> list[EnvVar]:
        """Its environment, as it may be shown."""
        shown = self.environment.shown if self.environment is not None else {}
        return [EnvVar(name=name, value=value) for name, value in sorted(shown.items())]

    def take_over(self, status: Reported) -> None:
        """Knows what an earlier control plane reported of it."""
        self.state, self.restarts = status.state, status.restart_count
        self.last_exit_code, self.exit_code = status.last_exit_code, status.exit_code
        self.started_at, self.finished_at = status.startup_timestamp, status.finish_timestamp
        self.args = list(status.effective_args)
        for each in status.conditions:
            if each.type == "Started":
                self.reason, self.message = each.reason, each.message


def moment(at: datetime | None) -> MicroTime | None:
    """A time, as statuses have it."""
    return None if at is None else MicroTime.of(at)
