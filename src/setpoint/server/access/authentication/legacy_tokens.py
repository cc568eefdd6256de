"""Verifies the tokens that kube-controller-manager writes into Secrets of service accounts.

Such a token has no end: the token is valid as long as its Secret contains the token and the account exists. The
server's own controller writes tokens of the current form instead (`service_account_tokens`). The day of the last use is
recorded in a label of the Secret.
"""

import hmac
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from setpoint.objects import meta
from setpoint.objects.gotext import quote
from setpoint.objects.provenance import Actor
from setpoint.objects.tree import Object, copy
from setpoint.server.access.authentication import jwt
from setpoint.server.access.authentication.token_cache import Verified
from setpoint.server.access.authentication.token_result import TokenError, common_audiences
from setpoint.server.access.authentication.users import (
    AUTHENTICATED,
    service_account_groups,
    service_account_of,
    service_account_user,
)
from setpoint.server.ports import Accepted, User
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Services
from setpoint.store.contract import ExpectationFailed, Item

ISSUER = "kubernetes/serviceaccount"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_CLAIM = "kubernetes.io/serviceaccount/"
_INVALIDATED = "Token has been invalidated"
_ACTOR = Actor("system:apiserver", ("system:masters",), field_manager="kube-apiserver")


class _Private(msgspec.Struct):
    """The claims of the account and its Secret."""

    namespace: str = msgspec.field(name=f"{_CLAIM}namespace", default="")
    secret: str = msgspec.field(name=f"{_CLAIM}secret.name", default="")
    account: str = msgspec.field(name=f"{_CLAIM}service-account.name", default="")
    uid: str = msgspec.field(name=f"{_CLAIM}service-account.uid", default="")
    sub: str = ""


@dataclass(slots=True)
class _Claims:
    """The claims of a token with a valid signature."""

    private: _Private
    audiences: Sequence[str]
    user: User
    # The revision of the Secret that was compared with the token, and the day that its label records.
    compared: int = 0
    used: str = ""


class LegacyTokens:
    """Authenticates service accounts by the tokens of their Secrets."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._verified: Verified[_Claims] = Verified()
        self._secrets = self._resource("secrets")
        self._accounts = self._resource("serviceaccounts")

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Accepted | None:
        """Returns the user and the matching audiences of a token, or None for tokens of other issuers. Raises
        TokenError if the token is invalid."""
        claims = self._verified.find(token, self._verify)
        if claims is None:
            return None
        common = common_audiences(claims.audiences, audiences)
        await self._check(claims, token)
        return Accepted(claims.user, common)

    def _verify(self, text: str) -> _Claims | None:
        found = jwt.verified_claims(text, (ISSUER,), self._services.issuer.keys)
        if found is None:
            return None
        try:
            private = msgspec.convert(found, _Private)
        except msgspec.ValidationError as error:
            raise TokenError(f"the claims are malformed: {error}") from None
        for value, name in (
            (private.sub, "sub"),
            (private.namespace, "namespace"),
            (private.secret, "secretName"),
            (private.account, "serviceAccountName"),
            (private.uid, "serviceAccountUID"),
        ):
            if not value:
                raise TokenError(f"{name} claim is missing")
        if service_account_of(private.sub) != (private.namespace, private.account):
            raise TokenError("sub claim is invalid")
        groups = (*service_account_groups(private.namespace), AUTHENTICATED)
        user = User(service_account_user(private.namespace, private.account), groups, private.uid)
        return _Claims(private, jwt.audiences(found) or self._services.issuer.audiences, user)

    async def _check(self, claims: _Claims, token: str) -> None:
        """Raises TokenError unless Secret and account exist and are those of the token."""
        private = claims.private
        key = self._secrets.storage.key(private.namespace, private.secret)
        item = await self._services.store.get(key)
        if item is None:
            raise TokenError(_INVALIDATED)
        secret: Object | None = None
        if item.revision != claims.compared:
            secret = self._secrets.item(item)
            _check_secret(secret, token)
        await self._check_account(private)
        if secret is not None:
            _check_label(secret, private)
            claims.compared, claims.used = item.revision, meta.labels(secret).get(LAST_USED, "")
        today = self._services.clock.now().strftime("%Y-%m-%d")
        # A label of the future comes from a server with a clock that is ahead; the next day overtakes the label.
        if claims.used < today:
            claims.used = today
            await self._record_use(key, item, today)

    async def _check_account(self, private: _Private) -> None:
        item = await self._services.store.get(self._accounts.storage.key(private.namespace, private.account))
        if item is None:
            raise TokenError(f"serviceaccounts {quote(private.account)} not found")
        account = self._accounts.item(item)
        if meta.deletion_timestamp(account):
            raise TokenError(f"ServiceAccount {private.namespace}/{private.account} has been deleted")
        if meta.uid(account) != private.uid:
            raise TokenError(f"ServiceAccount UID ({meta.uid(account)}) does not match claim ({private.uid})")

    async def _record_use(self, key: str, item: Item, today: str) -> None:
        old = self._secrets.item(item)
        new = copy(old)
        new["metadata"]["labels"] = {**meta.labels(old), LAST_USED: today}
        new = self._secrets.field_manager("", self._services.clock).update(old, new, _ACTOR.field_manager)
        try:
            await self._services.commit(key, self._secrets.encode(new), item.revision, _ACTOR)
        except ExpectationFailed:
            return  # a concurrent write; the next use after a restart or on another day records again

    def _resource(self, plural: str) -> Resource:
        resource = self._services.registry.resource("", "v1", plural)
        assert resource is not None, f"{plural} are not served"
        return resource


def _check_secret(secret: Object, token: str) -> None:
    if meta.deletion_timestamp(secret):
        raise TokenError(_INVALIDATED)
    stored = b64decode((secret.get("data") or {}).get("token") or "")
    if not hmac.compare_digest(stored, token.encode()):
        raise TokenError("Token does not match server's copy")


def _check_label(secret: Object, private: _Private) -> None:
    if meta.labels(secret).get(INVALID_SINCE):
        raise TokenError(
            f"the token in secret {private.namespace}/{private.secret} for service account "
            f"{private.namespace}/{private.account} has been marked invalid. Use tokens from the TokenRequest API or "
            f"manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to "
            "temporarily allow use of this token"
        )
