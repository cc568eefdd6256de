"""What a client tells those who count: every request with its outcome and its time, retries, and waiting of its own.

The names of the labels are those that Go's clients have in `rest_client_requests_total` and its like.
"""

from typing import Protocol

# The code of a request that had no answer.
NO_ANSWER = "<error>"


class Observer(Protocol):
    """Who counts the requests of a client. Called in passing: it must be quick and not fail."""

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request is done: with that code, or NO_ANSWER."""

    def retried(self, method: str, host: str, code: str) -> None:
        """A request is sent once more, after such an answer."""

    def limited(self, method: str, host: str, seconds: float) -> None:
        """A request waited so long for the client's own rate limit."""
