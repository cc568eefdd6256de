"""What can be read as a log: segments in order, and the news that there is more.

`Capture` and `FollowedFile` are tracks; readers need no more than this of either.
"""

import asyncio
from typing import Protocol

from setpoint.workload.logs.segment import Segment


class Track(Protocol):
    """A log that may still grow."""

    closed: bool
    # Set whenever there is more to read, or nothing more will come; a reader adds its own and takes it away.
    readers: set[asyncio.Event]

    def numbers(self) -> range:
        """The numbers of the segments there are, oldest first; at least one."""

    def open(self, number: int) -> Segment:
        """One segment; FileNotFoundError when it was dropped meanwhile."""

    def complete(self) -> int:
        """How many lines have ended, those in segments that were dropped included."""

    def partial(self) -> bool:
        """Whether there is a last line that has not ended."""
