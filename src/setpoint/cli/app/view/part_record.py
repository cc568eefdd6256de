"""What is known of one part of an app, from look to look."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from setpoint.cli.app.view.parts import Part
from setpoint.cli.app.view.status_text import How, time_of
from setpoint.cli.output.terminal import Meaning
from setpoint.cli.workloads.inventory import Workload
from setpoint.objects.tree import Object

ABSENT = How("absent", "waiting to be made")


class News(NamedTuple):
    """Something that happened. `failed` is the part to be explained."""

    text: str
    meaning: Meaning = ""
    failed: str = ""


@dataclass
class Track:
    """One part: the objects that it is, how it is and since when, and what was told of it."""

    part: Part
    how: How = ABSENT
    since: datetime | None = None
    workload: Workload | None = None
    trees: dict[str, Object] = field(default_factory=dict)
    # When it was first seen, had started, and was ready or done.
    seen_at: datetime | None = None
    started_at: datetime | None = None
    reached_at: datetime | None = None
    # When it ceased to be ready, and whether it was so in this life.
    left_at: datetime | None = None
    was_ready: bool = False
    # What has become of it since it was last told to be well.
    since_well: Literal["", "restarted", "stopped"] = ""
    # Whether it was told that something is wrong, and that something goes on; and of which failures it was.
    is_bad_told: bool = False
    is_long_told: bool = False
    told_failures: set[tuple[str, datetime | None]] = field(default_factory=set)
    # News that are told when they have lasted, and since when there are.
    held: News | None = None
    held_at: datetime | None = None

    @property
    def is_there(self) -> bool:
        """Whether it is still part of the app."""
        return self.workload is not None or self.how == ABSENT

    def started(self) -> datetime | None:
        """When it was last started, as far as the objects say."""
        if self.workload is None:
            return None
        runs = self.workload.status.get("runs") or ()
        times = [each.get("startTime") for each in runs[-1:]] or [
            each.status.get("startupTimestamp") for each in (self.workload, *self.workload.children)
        ]
        return max((time for each in times if (time := time_of(each)) is not None), default=None)


def first_line(text: str) -> str:
    """The beginning of what may be long."""
    return text.strip().partition("\n")[0]


def whole(seconds: float) -> int:
    """Seconds that are left, as one counts them down."""
    return max(1, -int(-seconds // 1))
