"""Reads at a revision: waiting for a future one, and the errors for unavailable ones."""

from typing import Protocol, runtime_checkable

from setpoint.objects.clock import Clock
from setpoint.objects.errors import Expired, StatusCause, Timeout
from setpoint.store.contract import StateReads

# The seconds that a read waits for a revision, the polling interval, and the distance at which waiting is pointless.
_PATIENCE = 3.0
_INTERVAL = 0.05
_HOPELESS = 1_000_000

TOO_OLD = "The resourceVersion for the provided list is too old."


@runtime_checkable
class Reaching(Protocol):
    """Reads that learn of new revisions without asking for them."""

    async def reach(self, revision: int) -> bool:
        """Waits for some seconds until a revision is reached. Returns False if that takes too long."""


async def wait_for(store: StateReads, clock: Clock, revision: int, *, retry_after_seconds: int = 1) -> int:
    """Waits until the store reaches a revision, and returns the current one. Raises Timeout if that takes too long."""
    current = await store.revision()
    if current >= revision:
        return current
    if isinstance(store, Reaching):
        if revision - current > _HOPELESS or not await store.reach(revision):
            raise too_large(revision, current, retry_after_seconds)
        return await store.revision()
    give_up = clock.monotonic() + _PATIENCE
    while current < revision:
        if clock.monotonic() >= give_up or revision - current > _HOPELESS:
            raise too_large(revision, current, retry_after_seconds)
        await clock.sleep(_INTERVAL)
        current = await store.revision()
    return current


def too_large(revision: int, current: int, retry_after_seconds: int = 1) -> Timeout:
    """Returns the error for a revision that does not exist yet."""
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    return Timeout(
        f"Timeout: Too large resource version: {revision}, current: {current}",
        causes=[cause],
        retry_after_seconds=retry_after_seconds,
        details=True,
    )


def too_old(revision: int, oldest: int) -> Expired:
    """Returns the error for a watch from a revision that has been compacted."""
    return Expired(f"too old resource version: {revision} ({oldest})")
