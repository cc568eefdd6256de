"""What a controller knows of a workload whatever runs for it: where it is in its life, why, and the lives before.

A life begins with a start and ends with an exit. It may be followed by another: because the restart policy says so, a
probe found it dead, somebody asked for it, or a file changed. The first two wait, longer each time, until a life was
long enough to count as good.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from setpoint.objects.clock import Clock
from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.environment import Environment
from setpoint.workload.kinds.parts import Condition, EnvVar, RestartBackoff
from setpoint.workload.probes.prober import Probing

# The reasons of what is being stopped for the time being, and of what has been.
SUSPENDING, SUSPENDED = "Suspending", "Suspended"
TOO_MANY = "TooManyRestarts"


class Reported(Protocol):
    """What every status tells of a life."""

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
    # Why this life began, where it was not for the end of the one before.
    restart_reason: str = ""
    # When it is started again, by the clock's monotonic time and by the clock on the wall.
    due: float | None = None
    due_at: datetime | None = None
    wait: timedelta | None = None
    began: float = 0.0
    # How often in a row it was started again because it had failed.
    in_a_row: int = 0
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

    def starts_anew(self, *, asked: bool = False) -> None:
        """Another life begins; what is known of the last one stays only as its exit code. `asked`: somebody did
        something about it, so that it does not count how often it failed before."""
        if asked:
            self.wait, self.in_a_row = None, 0
        self.last_exit_code, self.restart_reason = self.exit_code, self.restarting
        self.exit_code = self.started_at = self.finished_at = None
        self.due, self.due_at, self.restarting, self.restart_waits = None, None, "", False
        self.restarts += 1
        self.state = "Starting"

    def begins_again_later(self, clock: Clock, given: RestartBackoff | None, most: int | None) -> str:
        """Has another life begin after a while, twice as long as the last time unless that life was a good one; when,
        in words. Empty: so many lives in a row have failed that there is no other."""
        backoff, lived = given or RestartBackoff(), clock.monotonic() - self.began
        if lived >= backoff.reset_after.total_seconds():
            self.in_a_row = 0
        self.restart_waits, self.restarting = False, ""
        if most is not None and self.in_a_row >= most:
            return ""
        self.in_a_row += 1
        self.wait = next_wait(self.wait, backoff, lived)
        self.due, self.due_at = clock.monotonic() + self.wait.total_seconds(), clock.now() + self.wait
        return f"it is started again in {self.wait.total_seconds():g} s"

    def gives_up(self) -> str:
        """That there is no other life, in words."""
        times = {0: "never", 1: "once"}.get(self.in_a_row, f"{self.in_a_row} times in a row")
        return (
            f"it was started again {times}, as often as maxRestarts lets it; `setpoint restart {self.name}` tries anew"
        )

    def rests(self, over: Any, *, is_over: bool) -> tuple[Any, str, str]:
        """It is stopped for the time being, and will start at once when it is not any more: its state, which is `over`
        where it had begun, with reason and message."""
        self.due, self.due_at, self.restarting, self.restart_waits = None, None, "", False
        state = self.state if is_over or self.state in ("", "Pending") else over
        return state, SUSPENDED, f"it is stopped (suspend); `setpoint start {self.name}` starts it again"

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
        self.restart_reason = status.restart_reason
        self.started_at, self.finished_at = status.startup_timestamp, status.finish_timestamp
        self.args, self.obeyed = list(status.effective_args), status.observed_restart
        for each in status.conditions:
            if each.type == "Started":
                self.reason, self.message = each.reason, each.message


def moment(at: datetime | None) -> MicroTime | None:
    """A time, as statuses have it."""
    return None if at is None else MicroTime.of(at)
