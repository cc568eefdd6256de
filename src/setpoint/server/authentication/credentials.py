"""Authentication: who asks, by client certificate or bearer token.

As on the real server, a certificate counts before a token; a token that nobody knows is refused, even where a request
without one would be let in; and who brings nothing at all is anonymous, which the authorizer lets see little.
"""

from collections.abc import Mapping

from setpoint.server.authentication.users import ADMIN, ANONYMOUS, AUTHENTICATED, CREDENTIAL_ID
from setpoint.server.context import User
from setpoint.server.exchange import Peer, Request


class Credentials:
    """Knows users by their tokens, and by certificates that the edge has verified."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        # By the whole header as clients send it. A dictionary compares only what has the same hash, and nobody outside
        # knows how to make one: how long it takes tells nothing about a token.
        self._users = {f"Bearer {token}": user for token, user in tokens.items()}

    async def authenticate(self, request: Request) -> User | None:
        """Who asks; None if the credentials are wrong."""
        if request.peer.common_name:
            return _certified(request.peer)
        header = request.headers.get("authorization")
        if header is not None:
            user = self._users.get(header)
            if user is not None:
                return user
            scheme, _, token = header.strip().partition(" ")
            token = token.strip()
            if token and scheme.lower() == "bearer":
                return self._users.get(f"Bearer {token}")
        return ADMIN if request.peer.in_process else ANONYMOUS


def _certified(peer: Peer) -> User:
    """The user that a certificate names: the common name, in the groups that are its organizations."""
    extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
    return User(peer.common_name, (*peer.organizations, AUTHENTICATED), extra=extra)
