"""Tokens of an external OpenID Connect issuer: users are identified by the claims of their ID tokens.

The server finds the issuer's keys through the discovery document when the first token arrives, and fetches them again
when a token names an unknown key, because issuers rotate keys. Fetches are at least 10 seconds apart, so that clients
with invalid tokens cannot flood the issuer. Concurrent requests share one fetch. While the issuer does not respond, the
known keys stay valid.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from setpoint.objects.clock import Clock
from setpoint.objects.gotext import quote
from setpoint.objects.tree import Json, Object
from setpoint.server.access.authentication import jwt
from setpoint.server.access.authentication.settings import OIDCSettings
from setpoint.server.access.authentication.token_cache import Verified
from setpoint.server.access.authentication.token_result import TokenError
from setpoint.server.access.authentication.users import AUTHENTICATED, CREDENTIAL_ID
from setpoint.server.outbound.client import AuthoritiesError, Client, OutboundTarget
from setpoint.server.outbound.failure import CallFailed
from setpoint.server.ports import Accepted, User

_DISCOVERY = "/.well-known/openid-configuration"
_SECONDS = 10.0
_BODY_BYTES = 1 << 20
# The minimum number of seconds between two calls to the issuer.
_PAUSE = 10.0
# The tolerated clock difference for tokens that are not valid yet. There is no tolerance for expired tokens.
_LEEWAY = 300.0
_MAX_KEYS = 200


class _Claims(NamedTuple):
    """The claims of a token whose signature is valid."""

    user: User
    expires: float
    not_before: float | None


class OIDCTokens:
    """Authenticates the tokens of one issuer. The accepted tokens are valid for this server's audiences, given as
    `own`."""

    def __init__(self, settings: OIDCSettings, authorities: bytes, own: Sequence[str], clock: Clock) -> None:
        self._settings = settings
        self._own = own
        self._clock = clock
        self._keys = _Keys(settings.issuer, authorities, clock)
        self._verified: Verified[_Claims] = Verified()

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        common = tuple(audience for audience in self._own if audience in audiences)
        if not common:
            return None
        claims = self._verified.get(token)
        if claims is None:
            claims = await self._verify(token)
            if claims is None:
                return None
            self._verified.keep(token, claims)
        now = self._clock.now().timestamp()
        if now > claims.expires:
            raise TokenError("oidc: verify token: oidc: token is expired")
        if claims.not_before is not None and now + _LEEWAY < claims.not_before:
            raise TokenError("oidc: verify token: oidc: current time is before the nbf (not before) time")
        return Accepted(claims.user, common)

    def close(self) -> None:
        """Cancels a pending fetch of the issuer's keys."""
        self._keys.close()

    async def _verify(self, text: str) -> _Claims | None:
        """Verifies a token of the issuer and returns its claims. Returns None for tokens of other issuers."""
        try:
            token = jwt.read(text)
        except TokenError:
            return None
        settings = self._settings
        if token.claims.get("iss") != settings.issuer:
            return None
        try:
            claimed = jwt.audiences(token.claims)
            if not set(claimed) & set(settings.audiences):
                shown = " ".join(map(quote, settings.audiences)), " ".join(map(quote, claimed))
                raise TokenError(f"oidc: expected audience in [{shown[0]}] got [{shown[1]}]")
            if token.header.get("alg") not in settings.signing_algorithms:
                raise TokenError(f"oidc: id token signed with unsupported algorithm, {token.header.get('alg')}")
            await self._check_signature(token)
            expires, not_before = jwt.number(token.claims, "exp"), jwt.number(token.claims, "nbf")
            if expires is None:
                raise TokenError("oidc: token has no expiry")
        except TokenError as error:
            raise TokenError(f"oidc: verify token: {error}") from None
        return _Claims(_user(settings, token.claims), expires, not_before)

    async def _check_signature(self, token: jwt.Token) -> None:
        algorithms = self._settings.signing_algorithms
        known = self._keys.named(jwt.kid(token))
        if known:
            try:
                return jwt.verify_by_one(token, known, algorithms)
            except TokenError:
                if await self._keys.fetch() is False:
                    raise
        else:
            await self._keys.fetch()
        found = self._keys.named(jwt.kid(token))
        if not found:
            raise TokenError("failed to verify signature: the issuer has no key with this key ID")
        return jwt.verify_by_one(token, found, algorithms)


class _Keys:
    """The keys of an issuer, as last fetched."""

    def __init__(self, issuer: str, authorities: bytes, clock: Clock) -> None:
        self._issuer = issuer
        self._authorities = authorities
        self._clock = clock
        self._client = Client(clock, body_bytes=_BODY_BYTES)
        self._keys: Sequence[jwt.Key] = ()
        self._next = 0.0
        self._fault = "the keys of the issuer are not known yet"
        self._fetching: asyncio.Task[None] | None = None

    def named(self, kid: str) -> Sequence[jwt.Key]:
        """Returns the keys with this key ID, or all keys if the key ID is empty."""
        return [key for key in self._keys if not kid or key.kid == kid]

    async def fetch(self) -> bool:
        """Fetches the keys and returns True, or returns False if the last fetch is too recent. Raises TokenError if no
        keys are known."""
        fetched = self._fetching is not None or self._clock.monotonic() >= self._next
        if fetched:
            if self._fetching is None:
                self._fetching = asyncio.ensure_future(self._fetch())
            await asyncio.shield(self._fetching)
        if not self._keys:
            raise TokenError(self._fault)
        return fetched

    def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
        self._client.close()

    async def _fetch(self) -> None:
        try:
            discovered = await self._get(self._issuer.rstrip("/") + _DISCOVERY)
            if discovered.get("issuer") != self._issuer:
                shown = quote(str(discovered.get("issuer")))
                raise TokenError(f"issuer did not match: expected {quote(self._issuer)} got {shown}")
            address = discovered.get("jwks_uri")
            if not isinstance(address, str) or not address.startswith("https://"):
                raise TokenError("the discovery document names no jwks_uri that begins with https://")
            found = (await self._get(address)).get("keys")
            read = map(jwt.from_jwk, found[:_MAX_KEYS] if isinstance(found, list) else ())
            self._keys = [key for key in read if key is not None]
            self._fault = "the issuer publishes no key that could be used"
        except TokenError as error:
            self._fault = f"the keys of the issuer cannot be had: {error}"
        finally:
            self._next = self._clock.monotonic() + _PAUSE
            self._fetching = None

    async def _get(self, url: str) -> Object:
        try:
            answer = await self._client.get(OutboundTarget(url, self._authorities), timeout=_SECONDS)
        except (CallFailed, AuthoritiesError) as error:
            raise TokenError(str(error)) from None
        if answer.status != 200:
            raise TokenError(f"{url} answers {answer.status}")
        try:
            found: Object = msgspec.json.decode(answer.body, type=dict)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise TokenError(f"{url} does not answer with a JSON object") from None
        return found


def _user(settings: OIDCSettings, claims: Object) -> User:
    name = _text(claims, settings.username_claim, "username")
    if settings.username_claim == "email" and claims.get("email_verified", True) is not True:
        raise TokenError("oidc: email not verified")
    for claim, wanted in settings.required_claims.items():
        if claim not in claims:
            raise TokenError(f"oidc: required claim {claim} not present in ID token")
        if claims[claim] != wanted:
            raise TokenError(
                f"oidc: required claim {claim} value does not match. Got = {claims[claim]}, want = {wanted}"
            )
    groups = [f"{settings.groups_prefix}{group}" for group in _groups(settings.groups_claim, claims)]
    jti = claims.get("jti")
    extra = {CREDENTIAL_ID: (f"JTI={jti}",)} if isinstance(jti, str) and jti else {}
    return User(f"{username_prefix(settings)}{name}", (*groups, AUTHENTICATED), extra=extra)


def username_prefix(settings: OIDCSettings) -> str:
    """Returns the prefix of user names."""
    if settings.username_prefix:
        return "" if settings.username_prefix == "-" else settings.username_prefix
    return "" if settings.username_claim == "email" else f"{settings.issuer}#"


def _text(claims: Mapping[str, Json], claim: str, description: str) -> str:
    value = claims.get(claim)
    if not isinstance(value, str) or not value:
        why = "claim not present" if claim not in claims else "expected a non-empty string"
        raise TokenError(f"oidc: parse {description} claims {quote(claim)}: {why}")
    return value


def _groups(claim: str, claims: Object) -> Sequence[str]:
    """Returns the groups in a claim. Some issuers send a single group, such as a role, as a string."""
    value = claims.get(claim) if claim else None
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(group, str) for group in found):
        raise TokenError(f"oidc: parse groups claim {quote(claim)}: expected a string or a list of strings")
    return found
