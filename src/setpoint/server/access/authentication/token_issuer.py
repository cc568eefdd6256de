"""Issues the tokens of service accounts and publishes the public keys that verify them.

The signing key is generated on first use and kept in a directory, so that tokens stay valid after a restart; a server
that listens generates the key at once, for controllers of other processes that sign tokens. Without a directory, the
key exists only as long as the server.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from setpoint.objects.tree import Object
from setpoint.server.access.authentication.settings import ServiceAccountSettings
from setpoint.server.access.authentication.token_result import TokenError
from setpoint.server.access.authentication.users import service_account_user
from setpoint.server.ports import TokenLifetime, TokenReference
from setpoint.server.server_keys import ServerKeys

if TYPE_CHECKING:
    from setpoint.server.access.authentication.jwt import Key, Signer

JWKS_PATH = "/openid/v1/jwks"
# The lifetime that injected pod tokens request. Such a token stays valid for a year, for clients that do not reload the
# token; use after this lifetime is only recorded.
WARNED_SECONDS = 3607
_EXTENDED_SECONDS = 365 * 24 * 3600

SERVICE_ACCOUNTS = "service-accounts.pem"


class Issuer:
    """Issues the tokens of service accounts and holds the keys that verify them."""

    def __init__(self, settings: ServiceAccountSettings | None = None, keys: ServerKeys | None = None) -> None:
        """Loads the configured keys. Raises OSError or ValueError if a key cannot be used."""
        self.settings = settings or ServiceAccountSettings()
        self._server_keys = keys or ServerKeys()
        if not self.settings.issuers:
            raise ValueError("service_accounts.issuers: at least one issuer is required")
        if self.settings.signing_key or self.settings.verification_keys:
            self.keys("")  # report invalid keys now, not at the first request

    def keep_key(self) -> None:
        """Generates and keeps the signing key, if there is a directory without a key. Does not load the code that
        signs. Raises OSError."""
        if self._server_keys.directory is not None and self.settings.signing_key is None:
            self._server_keys.keep(SERVICE_ACCOUNTS, new_key)

    @property
    def name(self) -> str:
        """The issuer of new tokens."""
        return self.settings.issuers[0]

    @property
    def names(self) -> Sequence[str]:
        """The accepted issuers; the first one is the issuer of new tokens."""
        return self.settings.issuers

    @property
    def max_expiration_seconds(self) -> int:
        """The maximum lifetime of a token in seconds; 0: no limit."""
        return self.settings.max_expiration_seconds

    @property
    def audiences(self) -> Sequence[str]:
        """The audiences that this server accepts."""
        return self.settings.audiences or (self.name,)

    def keys(self, kid: str) -> "Sequence[Key]":
        """Returns the keys with this key ID, or all keys if the key ID is empty."""
        return self._keys if not kid else [key for key in self._keys if key.kid == kid]

    def lifetime(self, seconds: int, audiences: Sequence[str], *, for_pod: bool) -> TokenLifetime:
        """Returns the actual lifetime of a token for a requested lifetime."""
        settings = self.settings
        if not settings.extend_expiration or not for_pod or seconds != WARNED_SECONDS:
            return TokenLifetime(seconds)
        if not set(audiences) <= set(self.audiences):
            return TokenLifetime(seconds)
        longest = settings.max_expiration_seconds
        return TokenLifetime(min(_EXTENDED_SECONDS, longest) if longest else _EXTENDED_SECONDS, seconds)

    def issue(
        self,
        namespace: str,
        account: TokenReference,
        *,
        audiences: Sequence[str],
        lifetime: TokenLifetime,
        now: float,
        jti: str,
        bound: "dict[str, TokenReference]",
    ) -> str:
        """Returns a signed token for a service account. `bound` maps the claim name of a kind to the bound object."""
        issued = int(now)
        private: Object = {"namespace": namespace}
        private |= {kind: reference.to_claim() for kind, reference in bound.items()}
        private["serviceaccount"] = account.to_claim()
        if lifetime.warn_after:
            private["warnafter"] = issued + lifetime.warn_after
        return self._signer.sign(
            {
                "aud": list(audiences),
                "exp": issued + lifetime.seconds,
                "iat": issued,
                "iss": self.name,
                "jti": jti,
                "kubernetes.io": private,
                "nbf": issued,
                "sub": service_account_user(namespace, account.name),
            }
        )

    def configuration(self, address: str) -> Object:
        """Returns the OpenID discovery document. `address` is the host and port that the client used."""
        algorithms = sorted({key.algorithms[0] for key in self._keys})
        return {
            "issuer": self.name,
            "jwks_uri": self.settings.jwks_uri or f"https://{address}{JWKS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        }

    def keyset(self) -> Object:
        """Returns the public keys as a JSON Web Key Set."""
        from setpoint.server.access.authentication.jwt import to_jwk

        return {"keys": [to_jwk(key) for key in self._keys]}

    @cached_property
    def _signer(self) -> "Signer":
        from setpoint.server.access.authentication.jwt import Signer

        given = self.settings.signing_key
        try:
            return Signer(self._server_keys.keep(SERVICE_ACCOUNTS, new_key) if given is None else given.read_bytes())
        except TokenError as error:
            if given is not None:
                raise ValueError(f"service_accounts.signing_key: {given}: {error}") from None
            place = self._server_keys.place(SERVICE_ACCOUNTS)
            raise ValueError(f"{place}: {error}. Move the file away to generate a new key") from None

    @cached_property
    def _keys(self) -> "Sequence[Key]":
        from setpoint.server.access.authentication.jwt import read_keys

        found = {self._signer.key.kid: self._signer.key}
        for path in self.settings.verification_keys:
            try:
                found |= {key.kid: key for key in read_keys(path.read_bytes())}
            except TokenError as error:
                raise ValueError(f"service_accounts.verification_keys: {path}: {error}") from None
        return tuple(found.values())


def new_key() -> bytes:
    """Returns a new signing key in PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
