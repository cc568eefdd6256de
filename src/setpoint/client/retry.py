"""Retries of requests: as the server asks, and only if a repetition is safe."""

from collections.abc import Awaitable, Callable

from setpoint.client.transport import Answer, TransportError
from setpoint.objects.clock import Clock

# The maximum number of retries on Retry-After, as in client-go.
MAX_RETRIES = 10
_HARMLESS = frozenset(("GET", "HEAD"))
# The delays before a server that cannot be reached is tried again: the server may be restarting.
_UNREACHABLE_SECONDS = (0.05, 0.2, 1.0)


async def with_retries(
    attempt: Callable[[], Awaitable[Answer]],
    method: str,
    clock: Clock,
    *,
    retries: int = MAX_RETRIES,
    on_retry: Callable[[Answer | None], None] | None = None,
) -> Answer:
    """Returns the answer to a request, after retries. Raises TransportError.

    429 means that the server did not process the request, and 5xx with Retry-After asks for a retry: both are retried
    for every method. A request that did not reach the server is retried as well. After a connection that broke later,
    only reads are retried. A request that timed out is not retried.
    """
    unreachable = iter(_UNREACHABLE_SECONDS)
    answer: Answer | None
    while True:
        try:
            answer = await attempt()
        except TransportError as error:
            may = error.passes and (not error.sent or method in _HARMLESS)
            answer, seconds = None, next(unreachable, None) if may else None
            if seconds is None:
                raise
        else:
            seconds = retry_after(answer)
            if seconds is None or retries <= 0:
                return answer
            retries -= 1
        if on_retry is not None:
            on_retry(answer)
        await clock.sleep(seconds)


def retry_after(answer: Answer) -> float | None:
    """Returns the seconds that the server asks to wait before a retry, or None if the server does not ask for a
    retry."""
    if answer.status != 429 and answer.status < 500:
        return None
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
