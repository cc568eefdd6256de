"""Who asks: all ways to prove it, tried in turn.

As on the real server, a certificate counts before a token; a token that nobody knows is refused, even where a request
without one would be let in; and who brings nothing at all is anonymous, if that is allowed. Code in our own process is
the administrator, unless it brings credentials to be somebody else.
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

# What anybody may ask for: the first segments of such paths.
_HEALTH = frozenset(("healthz", "livez", "readyz", "version"))
_INVALID = "invalid bearer token"


class Credentials:
    """Knows users by certificates that the edge has verified, by tokens it was told of, by those of service accounts,
    and by whatever other tokens `others` know."""

    def __init__(
        self,
        tokens: Mapping[str, User],
        *,
        others: Sequence[TokenAuthenticator] = (),
        anonymous: Anonymous = "health",
        clock: Clock | None = None,
    ) -> None:
        """`clock` judges certificates: it is real even where that of the server is not, as it is for the handshake."""
        self.know(tokens)
        self._clock = clock or SystemClock()
        self._others = others
        self._anonymous = anonymous
        self._services: Services | None = None
        self._service_accounts: TokenAuthenticator | None = None

    def know(self, tokens: Mapping[str, User]) -> None:
        """Knows these tokens from now on, and no others that it was told of before."""
        # By the whole header as clients send it. A dictionary compares only what has the same hash, and nobody outside
        # knows how to make one: how long it takes tells nothing about a token.
        self._users = {f"Bearer {token}": user for token, user in tokens.items()}
        # Another object whenever the same credentials may mean somebody else, or nobody.
        self.epoch = object()

    def attach(self, services: Services) -> None:
        self._services = services

    def stands(self, request: Request, seconds: float) -> bool:
        """Tells whether a request that was authenticated would be so again for some seconds, as long as `epoch` is the
        same. A token that depends on objects or on an issuer would not."""
        peer = request.peer
        if peer.common_name:
            return not peer.expires or self._clock.now().timestamp() + seconds < peer.expires
        return request.headers.get("authorization") in self._users

    async def authenticate(self, request: Request, info: RequestInfo) -> User | None:
        """Who asks; None if the credentials are wrong. Raises Forbidden for who may not ask without any."""
        if request.peer.common_name:
            # It was good at the handshake, and a connection may live long.
            expires = request.peer.expires
            return None if expires and self._clock.now().timestamp() > expires else _certified(request.peer)
        header = request.headers.get("authorization")
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
        """Whose token it is. Raises TokenError."""
        assert self._services is not None, "an authenticator is attached before it is asked"
        own = self._services.issuer.audiences
        asked = audiences or own
        user = self._users.get(f"Bearer {token}")
        if user is not None:
            # Such a token is for this server, whatever else it may be asked about.
            common = tuple(audience for audience in own if audience in asked)
            if not common:
                raise TokenError(_INVALID)
            return Accepted(user, common)
        faults: list[str] = []
        for authenticator in (self._accounts(self._services), *self._others):
            try:
                accepted = await authenticator.authenticate(token, asked)
            except TokenError as error:
                faults.append(str(error))
                continue
            if accepted is not None:
                return accepted
        if not faults:
            raise TokenError(_INVALID)
        raise TokenError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")

    def _accounts(self, services: Services) -> TokenAuthenticator:
        if self._service_accounts is None:
            # Who never sees such a token need not load what verifies it.
            from setpoint.server.access.authentication.service_account_tokens import ServiceAccountTokens

            self._service_accounts = ServiceAccountTokens(services)
        return self._service_accounts

    def _without_credentials(self, request: Request, info: RequestInfo) -> User | None:
        if self._anonymous == "never":
            return None
        if self._anonymous == "health" and request.path.partition("/")[2].partition("/")[0] not in _HEALTH:
            raise refusal(ANONYMOUS, info, Decision(False))
        return ANONYMOUS


def _certified(peer: Peer) -> User:
    """The user that a certificate names: the common name, in the groups that are its organizations."""
    extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
    return User(peer.common_name, (*peer.organizations, AUTHENTICATED), extra=extra)


class Trusting(Credentials):
    """For a server that only trusted code can reach: who brings no credentials is the administrator."""

    def __init__(self) -> None:
        super().__init__({})

    def stands(self, request: Request, seconds: float) -> bool:
        without = not request.peer.common_name and "authorization" not in request.headers
        return without or super().stands(request, seconds)

    def _without_credentials(self, request: Request, info: RequestInfo) -> User | None:
        return ADMIN
