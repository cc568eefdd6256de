"""Verifies the tokens of service accounts.

A token is valid until its expiration, and only while the service account and the object that the token is bound to
exist. Signatures are verified once. The account is looked up in a live view and the bound object in the store for every
request, so a deletion takes effect at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from setpoint.objects import meta
from setpoint.objects.gotext import quote
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.server.access.authentication import jwt
from setpoint.server.access.authentication.token_cache import Verified
from setpoint.server.access.authentication.token_result import TokenError, common_audiences
from setpoint.server.access.authentication.users import (
    AUTHENTICATED,
    CREDENTIAL_ID,
    NODE_NAME,
    NODE_UID,
    POD_NAME,
    POD_UID,
    service_account_groups,
    service_account_user,
)
from setpoint.server.ports import Accepted, User
from setpoint.server.request.context import Services

# The tolerated clock difference. A terminating object counts as existing for the same time.
_LEEWAY = 60.0
_SEEN = 4096
_INVALIDATED = "service account token has been invalidated"


class _Reference(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Private(msgspec.Struct):
    """The Kubernetes-specific claims of a token."""

    namespace: str = ""
    serviceaccount: _Reference = msgspec.field(default_factory=_Reference)
    pod: _Reference | None = None
    secret: _Reference | None = None
    node: _Reference | None = None


class _Presence(NamedTuple):
    """An existing object: its UID, and its deletion time if the object is terminating."""

    uid: str
    deleted: float | None


class _Bound(NamedTuple):
    """An object that a token is bound to; deleting the object invalidates the token."""

    kind: str
    resource: str
    namespace: str
    reference: _Reference


@dataclass(slots=True)
class _Claims:
    """The claims of a token whose signature is valid."""

    user: User
    audiences: Sequence[str]
    expires: float | None
    not_before: float | None
    issued: float | None
    account: str  # the key of the service account
    name: str
    bound: Sequence[_Bound]


class ServiceAccountTokens:
    """Authenticates service accounts by their tokens."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._issuer = services.issuer
        self._accounts = services.views.of("", "v1", "serviceaccounts", _presence)
        self._verified: Verified[_Claims] = Verified()
        # The state of bound objects by key, with the revision at which each was read.
        self._seen: dict[str, tuple[int, _Presence]] = {}

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        """Returns the user and the matching audiences of a token, or None if this server did not issue the token.
        Raises TokenError if the token is invalid."""
        claims = self._verified.find(token, self._verify)
        if claims is None:
            return None
        common = common_audiences(claims.audiences, audiences)
        now = self._services.clock.now().timestamp()
        _check_time(claims, now)
        await self._check_account(claims, now)
        for bound in claims.bound:
            await self._check_bound(bound, now)
        return Accepted(claims.user, common)

    def _verify(self, text: str) -> _Claims | None:
        """Verifies a token that this server issued and returns its claims. Returns None for tokens of other issuers."""
        found = jwt.verified_claims(text, self._issuer.names, self._issuer.keys)
        return None if found is None else self._claims(found)

    def _claims(self, claims: Object) -> _Claims:
        try:
            private = msgspec.convert(claims.get("kubernetes.io"), _Private)
        except msgspec.ValidationError as error:
            raise TokenError(f"the claim kubernetes.io is malformed: {error}") from None
        namespace, account = private.namespace, private.serviceaccount
        key = self._key("serviceaccounts", namespace, account.name)
        return _Claims(
            User(
                service_account_user(namespace, account.name),
                (*service_account_groups(namespace), AUTHENTICATED),
                account.uid,
                _extra(claims, private),
            ),
            jwt.audiences(claims) or self._issuer.audiences,
            jwt.number(claims, "exp"),
            jwt.number(claims, "nbf"),
            jwt.number(claims, "iat"),
            key,
            account.name,
            tuple(_bound_to(private)),
        )

    async def _check_account(self, claims: _Claims, now: float) -> None:
        found = (await self._accounts.current()).get(claims.account)
        if found is None:
            raise TokenError(f"serviceaccounts {quote(claims.name)} not found")
        if found.uid != claims.user.uid:
            raise TokenError(f"service account UID ({found.uid}) does not match claim ({claims.user.uid})")
        if found.deleted is not None and found.deleted < now - _LEEWAY:
            namespace, name = claims.account.split("/")[-2:]
            raise TokenError(f"service account {namespace}/{name} has been deleted")

    async def _check_bound(self, bound: _Bound, now: float) -> None:
        found = await self._find(self._key(bound.resource, bound.namespace, bound.reference.name), bound.resource)
        if found is None:
            raise TokenError(_INVALIDATED)
        if found.uid != bound.reference.uid:
            kind, claimed = bound.kind, bound.reference.uid
            raise TokenError(f"{kind} UID ({found.uid}) does not match service account {kind} ref claim ({claimed})")
        if found.deleted is not None and found.deleted < now - _LEEWAY:
            raise TokenError(_INVALIDATED)

    async def _find(self, key: str, plural: str) -> _Presence | None:
        item = await self._services.store.get(key)
        if item is None:
            self._seen.pop(key, None)
            return None
        known = self._seen.get(key)
        if known is not None and known[0] == item.revision:
            return known[1]
        resource = self._services.registry.resource("", "v1", plural)
        assert resource is not None
        found = _presence(resource.item(item))
        if len(self._seen) >= _SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = (item.revision, found)
        return found

    def _key(self, plural: str, namespace: str, name: str) -> str:
        resource = self._services.registry.resource("", "v1", plural)
        assert resource is not None
        return resource.storage.key(namespace, name)


def _presence(tree: Object) -> _Presence:
    ends = meta.deletion_timestamp(tree)
    return _Presence(meta.uid(tree), parse_time(ends).timestamp() if ends else None)


def _check_time(claims: _Claims, now: float) -> None:
    if claims.not_before is not None and now + _LEEWAY < claims.not_before:
        raise TokenError("service account token is not valid yet")
    if claims.expires is not None and now - _LEEWAY > claims.expires:
        raise TokenError("service account token has expired")
    if claims.issued is not None and now + _LEEWAY < claims.issued:
        raise TokenError("service account token is issued in the future")


def _bound_to(private: _Private) -> list[_Bound]:
    found = []
    if private.secret is not None:
        found.append(_Bound("secret", "secrets", private.namespace, private.secret))
    if private.pod is not None:
        # The node of a pod is informational only.
        found.append(_Bound("pod", "pods", private.namespace, private.pod))
    elif private.node is not None:
        found.append(_Bound("node", "nodes", "", private.node))
    return found


def _extra(claims: Object, private: _Private) -> dict[str, Sequence[str]]:
    extra: dict[str, Sequence[str]] = {}
    if private.pod is not None and private.pod.name and private.pod.uid:
        extra |= {POD_NAME: (private.pod.name,), POD_UID: (private.pod.uid,)}
    if isinstance(jti := claims.get("jti"), str) and jti:
        extra[CREDENTIAL_ID] = (f"JTI={jti}",)
    if private.node is not None and private.node.name:
        extra[NODE_NAME] = (private.node.name,)
        if private.node.uid:
            extra[NODE_UID] = (private.node.uid,)
    return extra
