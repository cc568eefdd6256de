"""The next time at which a pod becomes available."""

from collections.abc import Sequence

from setpoint.objects.tree import Object
from setpoint.system.pods.state import seconds_to_available
from setpoint.system.turns import Timed, in_turns


async def next_availability(timed: Timed, pods: Sequence[Object], min_ready_seconds: int) -> float | None:
    """Returns the seconds until the next ready pod is available; None if there is no such pod."""
    found: float | None = None
    if not min_ready_seconds:
        return found
    now = timed.clock.now()
    async for pod in in_turns(timed, pods):
        left = seconds_to_available(pod, min_ready_seconds, now)
        if left and (found is None or left < found):
            found = left
    return found
