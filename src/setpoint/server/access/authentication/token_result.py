"""What becomes of a token: it is somebody's, or it is not good."""

from collections.abc import Sequence
from typing import Protocol

from setpoint.server.ports import Accepted


class TokenError(ValueError):
    """A token is not good; says why, in words that may be told to whoever sent it."""


class TokenAuthenticator(Protocol):
    """Knows users by one kind of token."""

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        """Whose token it is; None for one of another kind. Raises TokenError for one of its own that is not good, or is
        for none of the audiences."""
