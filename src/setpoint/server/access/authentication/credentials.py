"""Authenticates requests by trying all kinds of credentials in order.

As in kube-apiserver, a client certificate takes precedence over a token; an unknown token is refused even where an
anonymous request would be admitted; and a request without credentials is anonymous, if anonymous requests are allowed.
Code in the server's own process acts as the administrator unless the request carries credentials.
"""

from collections.abc import Mapping, Sequence

from setpoint.objects.clock import Clock, SystemClock
from setpoint.server.access.authentication.settings import Anonymous
from setpoint.server.access.authentication.token_result import TokenAuthenticator, TokenError
from setpoint.server.access.authentication.users import ADMIN, ANONYMOUS, AUTHENTICATED, CREDENTIAL_ID
from setpoint.server.access.authorization.authorizer import refusal
from setpoint.server.message import Peer, Request
from setpoint.server.ports import Accepted, Decision, User
from setpoint.server.request.context import Services
from setpoint.server.requestinfo import RequestInfo

# The first path segments that anonymous requests may read.
_HEALTH = frozenset(("healthz", "livez", "readyz", "version"))
_INVALID = "invalid bearer token"


class Credentials:
    """Authenticates users by certificates that the TLS edge has verified, by static tokens, by service account tokens,
    and by the token authenticators in `others`."""

    def __init__(
        self,
        tokens: Mapping[str, User],
        *,
        others: Sequence[TokenAuthenticator] = (),
        anonymous: Anonymous = "health",
        clock: Clock | None = None,
    ) -> None:
        """Checks certificate expiry by `clock`, which stays the real clock even if the server's clock is simulated,
        like the TLS handshake."""
        self.set_tokens(tokens)
        self._clock = clock or SystemClock()
        self._others = others
        self._anonymous = anonymous
        self._services: Services | None = None
        self._service_accounts: Sequence[TokenAuthenticator] = ()

    def set_tokens(self, tokens: Mapping[str, User]) -> None:
        """Replaces all static tokens."""
        # By the whole header as clients send it. A dictionary compares only keys with equal hashes, and clients cannot
        # construct a colliding hash, so the lookup time reveals nothing about a token.
        self._users = {f"Bearer {token}": user for token, user in tokens.items()}
        # Replaced whenever the same credentials may stand for a different user or become invalid.
        self.epoch = object()

    def attach(self, services: Services) -> None:
        self._services = services

    def stands(self, request: Request, seconds: float) -> bool:
        """Returns True if an authenticated request stays authenticated for the given seconds, as long as `epoch` does
        not change. Tokens that depend on objects or on an issuer return False."""
        peer = request.peer
        if peer.common_name:
            return not peer.expires or self._clock.now().timestamp() + seconds < peer.expires
        return request.headers.get("authorization") in self._users

    async def authenticate(self, request: Request, info: RequestInfo) -> User | None:
        """Returns the user of a request, or None if the credentials are invalid. Raises Forbidden if anonymous requests
        are not allowed for the path."""
        if request.peer.common_name:
            # Valid at the handshake, but the connection may outlive the certificate.
            expires = request.peer.expires
            return None if expires and self._clock.now().timestamp() > expires else _certified(request.peer)
        header = request.headers.get("authorization")
        if header is None and request.peer.session_user is not None:
            session_user: User = request.peer.session_user
            return session_user
        if header is not None:
            user = self._users.get(header)
            if user is not None:
                return user
            scheme, _, token = header.strip().partition(" ")
            token = token.strip()
            if token and scheme.lower() == "bearer":
                try:
                    return (await self.review(token)).user
                except TokenError:
                    return None
        return ADMIN if request.peer.in_process else self._without_credentials(request, info)

    async def review(self, token: str, audiences: Sequence[str] = ()) -> Accepted:
        """Returns the user and audiences of a token. Raises TokenError."""
        assert self._services is not None, "attach must be called before review"
        own = self._services.issuer.audiences
        requested = audiences or own
        user = self._users.get(f"Bearer {token}")
        if user is not None:
            # A static token is valid for this server's audiences only.
            common = tuple(audience for audience in own if audience in requested)
            if not common:
                raise TokenError(_INVALID)
            return Accepted(user, common)
        faults: list[str] = []
        for authenticator in (*self._accounts(self._services), *self._others):
            try:
                accepted = await authenticator.authenticate(token, requested)
            except TokenError as error:
                faults.append(str(error))
                continue
            if accepted is not None:
                return accepted
        if not faults:
            raise TokenError(_INVALID)
        raise TokenError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")

    def _accounts(self, services: Services) -> Sequence[TokenAuthenticator]:
        if not self._service_accounts:
            # Loaded on first use, so that servers without such tokens do not import the verification code.
            from setpoint.server.access.authentication.legacy_tokens import LegacyTokens
            from setpoint.server.access.authentication.service_account_tokens import ServiceAccountTokens

            self._service_accounts = (ServiceAccountTokens(services), LegacyTokens(services))
        return self._service_accounts

    def _without_credentials(self, request: Request, info: RequestInfo) -> User | None:
        if self._anonymous == "never":
            return None
        if self._anonymous == "health" and request.path.partition("/")[2].partition("/")[0] not in _HEALTH:
            raise refusal(ANONYMOUS, info, Decision(False))
        return ANONYMOUS


def _certified(peer: Peer) -> User:
    """Returns the user that a certificate names: the common name, in the groups given by the organizations."""
    extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
    return User(peer.common_name, (*peer.organizations, AUTHENTICATED), extra=extra)


class Trusting(Credentials):
    """Credentials for a server that only trusted code can reach: requests without credentials act as the
    administrator."""

    def __init__(self) -> None:
        super().__init__({})

    def stands(self, request: Request, seconds: float) -> bool:
        without = not request.peer.common_name and "authorization" not in request.headers
        return without or super().stands(request, seconds)

    def _without_credentials(self, request: Request, info: RequestInfo) -> User | None:
        return ADMIN
