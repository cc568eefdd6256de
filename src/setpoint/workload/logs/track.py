"""The interface of readable logs: segments in order, and notifications of new output.

`Capture` and `FollowedFile` are tracks; readers use only this interface.
"""

import asyncio
from typing import Protocol

from setpoint.workload.logs.segment import Segment


class Track(Protocol):
    """A log that may still grow."""

    closed: bool
    # Set when there is new output, or none will follow; a reader adds and removes its own event.
    readers: set[asyncio.Event]

    def numbers(self) -> range:
        """Returns the numbers of the existing segments, the oldest first; at least one."""

    def open(self, number: int) -> Segment:
        """Opens a segment. Raises FileNotFoundError if dropped meanwhile."""

    def complete(self) -> int:
        """Returns the number of complete lines, including those in dropped segments."""

    def partial(self) -> bool:
        """Returns True if the last line is incomplete."""
