"""The state that controllers keep of any workload: its lifecycle state, the reason, and its restarts.

A run begins with a start and ends with an exit. Another run follows if the restart policy says so, a liveness probe
fails, a user requests a restart, or a file changes. The first two wait for the backoff, which doubles until a run lasts
long enough.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from setpoint.objects.clock import Clock
from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.dependencies import WAITING
from setpoint.workload.environment import Environment
from setpoint.workload.kinds.parts import Condition, EnvVar, RestartBackoff
from setpoint.workload.probes.prober import Probing

# The reasons of workloads that are being suspended, and that are suspended.
SUSPENDING, SUSPENDED = "Suspending", "Suspended"
TOO_MANY = "TooManyRestarts"


class Reported(Protocol):
    """The fields of a status that all workloads share."""

    state: Any
    restart_count: int
    last_exit_code: int | None
    restart_reason: str
    exit_code: int | None
    startup_timestamp: MicroTime | None
    finish_timestamp: MicroTime | None
    effective_args: list[str]
    conditions: list[Condition]
    observed_restart: str


@dataclass
class WorkloadState:
    """One object and its workload."""

    uid: str
    name: str
    # A state of its kind.
    state: Any = ""
    # The reason and message of the conditions.
    reason: str = "Pending"
    message: str = "not reconciled yet"
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    restarts: int = 0
    last_exit_code: int | None = None
    # The reason of this restart, unless the previous run ended by itself.
    restart_reason: str = ""
    # The time of the next start, in monotonic time and in wall-clock time.
    due: float | None = None
    due_at: datetime | None = None
    wait: timedelta | None = None
    began: float = 0.0
    # The number of consecutive restarts after failures.
    in_a_row: int = 0
    # The reason of a stop that is part of a restart; and True if the next start waits for the backoff.
    restarting: str = ""
    restart_waits: bool = False
    # The last completed restart request.
    obeyed: str = ""
    # Done when the monitored process has ended.
    monitored: "asyncio.Future[Any] | None" = None
    environment: Environment | None = None
    args: list[str] = field(default_factory=list)
    probing: Probing | None = None
    files: tuple[str, str] = ("", "")
    # The socket of its terminal.
    terminal: str = ""
    # The Services that may have an Endpoint of this workload.
    served: set[str] = field(default_factory=set)

    def set_state(self, state: Any, reason: str, message: str) -> bool:
        """Sets the state, reason and message. Returns True if the change is to be reported: of a wait only the
        beginning, because the message changes with every dependency."""
        was = (self.state, self.reason, self.message)
        self.state, self.reason, self.message = state, reason, message
        return was[:2] != (state, reason) or (reason != WAITING and was[2] != message)

    def start_run(self, *, is_requested: bool = False) -> None:
        """Begins another run and keeps only the exit code of the last one. With `is_requested`, a user requested the
        run and the failure count is reset."""
        if is_requested:
            self.wait, self.in_a_row = None, 0
        self.last_exit_code, self.restart_reason = self.exit_code, self.restarting
        self.exit_code = self.started_at = self.finished_at = None
        self.due, self.due_at, self.restarting, self.restart_waits = None, None, "", False
        self.restarts += 1
        self.state = "Starting"

    def schedule_restart(self, clock: Clock, settings: RestartBackoff | None, most: int | None) -> str:
        """Schedules another run after the backoff, which doubles unless the last run was long enough. Returns a message
        with the delay; an empty string if the consecutive failures exceed the limit."""
        backoff, lived = settings or RestartBackoff(), clock.monotonic() - self.began
        if lived >= backoff.reset_after.total_seconds():
            self.in_a_row = 0
        self.restart_waits, self.restarting = False, ""
        if most is not None and self.in_a_row >= most:
            return ""
        self.in_a_row += 1
        self.wait = next_wait(self.wait, backoff, lived)
        self.due, self.due_at = clock.monotonic() + self.wait.total_seconds(), clock.now() + self.wait
        return f"next restart in {self.wait.total_seconds():g} s"

    def give_up_message(self) -> str:
        """Returns the message that no further restart follows."""
        times = {0: "never", 1: "once"}.get(self.in_a_row, f"{self.in_a_row} times in a row")
        return f"restarted {times}, the limit of maxRestarts; `setpoint restart {self.name}` tries again"

    def suspend(self, over: Any, *, is_over: bool) -> tuple[Any, str, str]:
        """Suspends the workload. Returns its state (`over` if a run had begun), reason and message."""
        self.due, self.due_at, self.restarting, self.restart_waits = None, None, "", False
        state = self.state if is_over or self.state in ("", "Pending") else over
        return state, SUSPENDED, f"suspended; `setpoint start {self.name}` starts it again"

    def close_probing(self) -> None:
        if self.probing is not None:
            self.probing.close()

    def effective_env(self) -> list[EnvVar]:
        """Returns the environment with secrets masked."""
        shown = self.environment.shown if self.environment is not None else {}
        return [EnvVar(name=name, value=value) for name, value in sorted(shown.items())]

    def restore_status(self, status: Reported) -> None:
        """Takes over the status that an earlier control plane reported."""
        self.state, self.restarts = status.state, status.restart_count
        self.last_exit_code, self.exit_code = status.last_exit_code, status.exit_code
        self.restart_reason = status.restart_reason
        self.started_at, self.finished_at = status.startup_timestamp, status.finish_timestamp
        self.args, self.obeyed = list(status.effective_args), status.observed_restart
        for each in status.conditions:
            if each.type == "Started":
                self.reason, self.message = each.reason, each.message


def moment(at: datetime | None) -> MicroTime | None:
    """Returns a time in the format of statuses."""
    return None if at is None else MicroTime.of(at)
