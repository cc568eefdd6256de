"""The observer of a client's requests, for metrics: outcome and duration of each request, retries, and waits for the
rate limit.

The labels have the names of client-go's metrics, such as `rest_client_requests_total`.
"""

from typing import Protocol

# The code of a request without an answer.
NO_ANSWER = "<error>"


class ClientObserver(Protocol):
    """Receives the events of a client's requests. The methods run within the request: they must be quick and must not
    raise."""

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """A request has finished, with this status code or NO_ANSWER."""

    def retried(self, method: str, host: str, code: str) -> None:
        """A request is repeated after an answer with this code."""

    def limited(self, method: str, host: str, seconds: float) -> None:
        """A request has waited this long for the client's rate limit."""
