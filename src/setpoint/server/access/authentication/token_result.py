"""The interface of token authenticators, and the error for invalid tokens."""

from collections.abc import Sequence
from typing import Protocol

from setpoint.server.ports import Accepted


class TokenError(ValueError):
    """The token is invalid. The message says why and may be shown to the client."""


class TokenAuthenticator(Protocol):
    """Authenticates one kind of token."""

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        """Returns the user and audiences of a token, or None if the token is of another kind. Raises TokenError if the
        token is invalid or is for none of the audiences."""
