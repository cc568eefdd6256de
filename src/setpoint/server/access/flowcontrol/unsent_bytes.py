"""Limits the bytes of responses that clients have not read yet, by user.

Responses to slow clients occupy the server's memory. The unread bytes of one user over all connections are limited:
further responses wait until earlier ones are read, and are rejected after a timeout. A single response larger than the
limit is sent when no other response of the user is pending.
"""

import asyncio
from collections import deque

from setpoint.objects.clock import Clock, timeout


class Unsent:
    """The unsent bytes of all users of one server."""

    def __init__(self, clock: Clock, most: int, wait_seconds: float) -> None:
        self._clock = clock
        self._most = most
        self._wait_seconds = wait_seconds
        self._bytes_of: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}

    @property
    def total(self) -> int:
        """The unsent bytes of all users."""
        return sum(self._bytes_of.values())

    def of(self, user: str) -> int:
        """Returns the unsent bytes of one user."""
        return self._bytes_of.get(user, 0)

    def is_over(self, user: str) -> bool:
        """Returns True if the user exceeds the limit."""
        return self._bytes_of.get(user, 0) > self._most

    def add(self, user: str, size: int) -> None:
        """Counts bytes that are already buffered. A negative size releases bytes."""
        left = self._bytes_of.get(user, 0) + size
        if left > 0:
            self._bytes_of[user] = left
        else:
            self._bytes_of.pop(user, None)
        if size < 0 and user in self._waiting:
            self._admit(user)

    async def reserve(self, user: str, size: int) -> bool:
        """Waits until the bytes of a response fit under the limit and counts them. Returns False after the timeout."""
        if user not in self._waiting and self._fits(user, size):
            self.add(user, size)
            return True
        room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (size, room)
        self._waiting.setdefault(user, deque()).append(entry)
        try:
            async with timeout(self._clock, self._wait_seconds):
                await room
        except TimeoutError:
            self._disconnect(user, entry)
            return False
        except asyncio.CancelledError:
            self._disconnect(user, entry)
            raise
        return True

    def _fits(self, user: str, size: int) -> bool:
        held = self._bytes_of.get(user, 0)
        return not held or held + size <= self._most

    def _admit(self, user: str) -> None:
        waiting = self._waiting[user]
        while waiting and (waiting[0][1].done() or self._fits(user, waiting[0][0])):
            size, room = waiting.popleft()
            if not room.done():
                self._bytes_of[user] = self._bytes_of.get(user, 0) + size
                room.set_result(None)
        if not waiting:
            del self._waiting[user]

    def _disconnect(self, user: str, entry: "tuple[int, asyncio.Future[None]]") -> None:
        waiting = self._waiting.get(user)
        if waiting is not None and entry in waiting:
            waiting.remove(entry)
            if not waiting:
                del self._waiting[user]
            else:
                self._admit(user)
        elif entry[1].done() and not entry[1].cancelled():
            self.add(user, -entry[0])  # admitted at the same moment
