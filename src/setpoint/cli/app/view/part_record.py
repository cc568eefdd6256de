"""The state of one part of an app between updates."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from setpoint.cli.app.view.parts import Part
from setpoint.cli.app.view.status_text import PartStatus, time_of
from setpoint.cli.output.terminal import Meaning
from setpoint.cli.workloads.inventory import Workload
from setpoint.objects.tree import Object

ABSENT = PartStatus("absent", "waiting to be created")


class News(NamedTuple):
    """A message. `failed` is the part to explain."""

    text: str
    meaning: Meaning = ""
    failed: str = ""


@dataclass
class Track:
    """One part: its objects, its state and since when, and the messages already shown."""

    part: Part
    how: PartStatus = ABSENT
    since: datetime | None = None
    workload: Workload | None = None
    trees: dict[str, Object] = field(default_factory=dict)
    # The times at which the part was first seen, started, and became ready or done.
    seen_at: datetime | None = None
    started_at: datetime | None = None
    reached_at: datetime | None = None
    # The time at which the part became unready, and whether the part was ready since its last restart.
    left_at: datetime | None = None
    was_ready: bool = False
    # The event since the part was last reported as ready.
    since_well: Literal["", "restarted", "stopped"] = ""
    # The messages already shown: a bad state, a long transition, and single failures.
    is_failure_reported: bool = False
    is_delay_reported: bool = False
    reported_failures: set[tuple[str, datetime | None]] = field(default_factory=set)
    # A message that is shown only if the state lasts, and the time of the message.
    held: News | None = None
    held_at: datetime | None = None

    @property
    def is_there(self) -> bool:
        """True if the part still belongs to the app."""
        return self.workload is not None or self.how == ABSENT

    def started(self) -> datetime | None:
        """Returns the time of the last start according to the objects."""
        if self.workload is None:
            return None
        runs = self.workload.status.get("runs") or ()
        times = [each.get("startTime") for each in runs[-1:]] or [
            each.status.get("startupTimestamp") for each in (self.workload, *self.workload.children)
        ]
        return max((time for each in times if (time := time_of(each)) is not None), default=None)


def first_line(text: str) -> str:
    """Returns the first line of a text."""
    return text.strip().partition("\n")[0]


def rounded_up(seconds: float) -> int:
    """Returns the remaining seconds, rounded up for a countdown."""
    return max(1, -int(-seconds // 1))
