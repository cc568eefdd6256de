"""When a request is sent again: as the server says, and only where doing it twice does no harm."""

from collections.abc import Awaitable, Callable

from setpoint.client.transport import Answer, TransportError
from setpoint.objects.clock import Clock

# How often a server that asks for patience is asked again, as in client-go.
MAX_RETRIES = 10
_HARMLESS = frozenset(("GET", "HEAD"))
# How long a server that cannot be reached is left alone before it is asked once more: it may be starting anew.
_UNREACHABLE_SECONDS = (0.05, 0.2, 1.0)


async def with_retries(
    attempt: Callable[[], Awaitable[Answer]],
    method: str,
    clock: Clock,
    *,
    retries: int = MAX_RETRIES,
    on_retry: Callable[[Answer | None], None] | None = None,
) -> Answer:
    """The answer to a request, after as many tries as it takes. Raises TransportError.

    429 says that nothing was done, and 5xx with Retry-After asks for another try: both are heeded, for every request. A
    server that cannot be reached has done nothing either; one that may have is only asked again for a read. A request
    whose time was over is not sent again.
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
    """The seconds that a server asks to wait before another try; None where it does not ask for one."""
    if answer.status != 429 and answer.status < 500:
        return None
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
