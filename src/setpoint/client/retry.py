"""Retries of requests: as the server asks, and only if a repetition is safe.

429 means that the server did not process the request, and 5xx with Retry-After asks for a retry: both are retried for
every method. A request that did not reach the server is retried as well. After a connection that broke later, only
reads are retried. A request that timed out is not retried.
"""

from setpoint.client.transport import Answer, TransportError

# The maximum number of retries on Retry-After, as in client-go.
MAX_RETRIES = 10
_HARMLESS = frozenset(("GET", "HEAD"))
# The delays before a server that cannot be reached is tried again: the server may be restarting.
_UNREACHABLE_SECONDS = (0.05, 0.2, 1.0)


class Retries:
    """The retries of one request, counted."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._left = MAX_RETRIES
        self._unreachable = iter(_UNREACHABLE_SECONDS)

    def after(self, answer: Answer) -> float | None:
        """Returns the seconds to wait before a retry after an error answer, or None if the answer is final."""
        seconds = _retry_after(answer)
        if seconds is None or self._left <= 0:
            return None
        self._left -= 1
        return seconds

    def after_error(self, error: TransportError) -> float | None:
        """Returns the seconds to wait before a retry of a request without an answer, or None if the request is not
        retried."""
        may = error.passes and (not error.sent or self._method in _HARMLESS)
        return next(self._unreachable, None) if may else None


def _retry_after(answer: Answer) -> float | None:
    """Returns the seconds that the server asks to wait before a retry, or None if the server does not ask for a
    retry."""
    if answer.status != 429 and answer.status < 500:
        return None
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
