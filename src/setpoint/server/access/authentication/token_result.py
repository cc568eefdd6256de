"""The interface of token authenticators, and the error for invalid tokens."""

from collections.abc import Sequence
from typing import Protocol

from setpoint.objects.gotext import quote
from setpoint.server.ports import Accepted


class TokenError(ValueError):
    """The token is invalid. The message says why and may be shown to the client."""


class TokenAuthenticator(Protocol):
    """Authenticates one kind of token."""

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        """Returns the user and audiences of a token, or None if the token is of another kind. Raises TokenError if the
        token is invalid or is for none of the audiences."""


def common_audiences(of_token: Sequence[str], accepted: Sequence[str]) -> tuple[str, ...]:
    """Returns the audiences of a token that are accepted. Raises TokenError if there are none."""
    found = tuple(audience for audience in of_token if audience in accepted)
    if not found:
        raise TokenError(f"token audiences {_quoted(of_token)} is invalid for the target audiences {_quoted(accepted)}")
    return found


def _quoted(texts: Sequence[str]) -> str:
    return f"[{' '.join(map(quote, texts))}]"
