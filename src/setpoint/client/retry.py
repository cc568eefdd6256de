"""When a request is sent again: as the server says, and only where doing it twice does no harm."""

from collections.abc import Awaitable, Callable

from setpoint.client.transport import Answer, Call, Transport, TransportError
from setpoint.objects.clock import Clock

# How often a server that asks for patience is asked again, as in client-go.
MAX_RETRIES = 10
_HARMLESS = frozenset(("GET", "HEAD"))
# How long a server that cannot be reached is left alone before it is asked once more: it may be starting anew.
_UNREACHABLE_SECONDS = (0.05, 0.2, 1.0)


async def send(transport: Transport, call: Call, clock: Clock, *, retries: int = MAX_RETRIES) -> Answer:
    """The answer to a request, after as many tries as it takes. Raises TransportError."""
    return await with_retries(lambda: transport.send(call), call.method, clock, retries)


async def with_retries(
    attempt: Callable[[], Awaitable[Answer]], method: str, clock: Clock, retries: int = MAX_RETRIES
) -> Answer:
    """The same for whatever makes an attempt.

    429 says that nothing was done, and 5xx with Retry-After asks for another try: both are heeded, for every request. A
    server that cannot be reached has done nothing either; one that may have is only asked again for a read.
    """
    unreachable = iter(_UNREACHABLE_SECONDS)
    while True:
        try:
            answer = await attempt()
        except TransportError as error:
            wait = next(unreachable, None) if not error.sent or method in _HARMLESS else None
            if wait is None:
                raise
            await clock.sleep(wait)
            continue
        seconds = _retry_after(answer)
        if seconds is None or retries <= 0:
            return answer
        retries -= 1
        await clock.sleep(seconds)


def _retry_after(answer: Answer) -> float | None:
    """The seconds that a server asks to wait before another try; None where it does not ask for one."""
    if answer.status != 429 and answer.status < 500:
        return None
    try:
        return float(answer.headers["retry-after"])
    except (KeyError, ValueError):
        return None
