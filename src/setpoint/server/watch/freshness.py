"""Reading at a revision: waiting for one that is not there yet, and the answers where one is out of reach."""

from setpoint.objects.clock import Clock
from setpoint.objects.errors import Expired, StatusCause, Timeout
from setpoint.store.contract import Store

# How long a read waits for a revision, how often it looks, and how far ahead one is hopeless.
_PATIENCE = 3.0
_INTERVAL = 0.05
_HOPELESS = 1_000_000

TOO_OLD = "The resourceVersion for the provided list is too old."


async def wait_for(store: Store, clock: Clock, revision: int) -> int:
    """Returns the current revision once it has reached one; Timeout if that takes too long."""
    current = await store.revision()
    if current >= revision:
        return current
    give_up = clock.monotonic() + _PATIENCE
    while current < revision:
        if clock.monotonic() >= give_up or revision - current > _HOPELESS:
            raise too_large(revision, current)
        await clock.sleep(_INTERVAL)
        current = await store.revision()
    return current


def too_large(revision: int, current: int) -> Timeout:
    """The answer to who asks for a revision that does not exist yet."""
    cause = StatusCause("ResourceVersionTooLarge", "Too large resource version")
    return Timeout(
        f"Timeout: Too large resource version: {revision}, current: {current}",
        causes=[cause],
        retry_after_seconds=1,
        details=True,
    )


def too_old(revision: int, oldest: int) -> Expired:
    """The answer to a watch from a revision that is no longer kept."""
    return Expired(f"too old resource version: {revision} ({oldest})")
