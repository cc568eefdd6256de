"""The settings of authentication, for the configuration file, the flags and embedders.

The settings contain the paths of files. The files are read when the server is created, and errors name the setting.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"

# Treatment of requests without credentials. health: allowed for health and version endpoints, refused with 403
# elsewhere, independent of roles. always: the user `system:anonymous` everywhere, subject to roles. never: refused with
# 401.
Anonymous: TypeAlias = Literal["health", "always", "never"]


@dataclass(frozen=True)
class ServiceAccountSettings:
    """The settings of service account tokens."""

    # The first issuer is used for new tokens; the others are accepted as well.
    issuers: tuple[str, ...] = (DEFAULT_ISSUER,)
    # The audiences that this server accepts; by default the first issuer.
    audiences: tuple[str, ...] = ()
    # The private key that signs tokens, RSA or ECDSA in PEM; by default a key is generated and kept with the data.
    signing_key: Path | None = None
    # Additional keys, public or private, that verify tokens: for key rotation.
    verification_keys: tuple[Path, ...] = ()
    # The URL of the public keys; by default the URL at which this server publishes them.
    jwks_uri: str = ""
    # The maximum lifetime of a token in seconds; 0: no limit.
    max_expiration_seconds: int = 0
    # Extends the lifetime of injected pod tokens to a year, for clients that do not reload the token.
    extend_expiration: bool = True


@dataclass(frozen=True)
class OIDCSettings:
    """An OpenID Connect issuer whose ID tokens are accepted."""

    # `https://...`, exactly as in the tokens and in the discovery document.
    issuer: str
    # The accepted audiences: the client IDs. A token must contain one of them.
    audiences: tuple[str, ...]
    username_claim: str = "sub"
    # The prefix of user names. By default the issuer and `#`, but no prefix if the claim is `email`; `-`: no prefix.
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    # Claims that a token must have, with these values.
    required_claims: Mapping[str, str] = field(default_factory=dict)
    # The CA certificates for the issuer's TLS certificate, in PEM; by default those that the system trusts.
    authority: Path | None = None
    # Of RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384 and PS512.
    signing_algorithms: tuple[str, ...] = ("RS256",)


@dataclass(frozen=True)
class AuthenticationSettings:
    """All authentication settings. Client certificates from the authorities that the TLS edge trusts are always
    accepted."""

    anonymous: Anonymous = "health"
    # Lines of `token,user,uid,"group1,group2"`.
    token_file: Path | None = None
    service_accounts: ServiceAccountSettings = ServiceAccountSettings()
    oidc: tuple[OIDCSettings, ...] = ()
