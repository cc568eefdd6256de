"""What can be chosen about authentication, as one value: for the configuration file, the flags and embedders.

Files are named, not read, here. What cannot be used is found when the server is made, with the name of the field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"

# Who brings no credentials: is let in to ask about the server's health and version, and refused (403) elsewhere,
# whatever roles say; is the user `system:anonymous` everywhere, and roles decide; is never let in (401).
Anonymous: TypeAlias = Literal["health", "always", "never"]


@dataclass(frozen=True)
class ServiceAccountSettings:
    """The tokens of service accounts."""

    # The first is who our tokens are issued by; the others are accepted as well.
    issuers: tuple[str, ...] = (DEFAULT_ISSUER,)
    # Whom a token must be for to be good at this server; by default the first issuer.
    audiences: tuple[str, ...] = ()
    # The private key that tokens are signed with, RSA or ECDSA in PEM; by default one is made, and kept with the data.
    signing_key: Path | None = None
    # Keys, public or private, that tokens may be signed with beside the one above: after a change of keys.
    verification_keys: tuple[Path, ...] = ()
    # Where others find our public keys; by default where this server publishes them.
    jwks_uri: str = ""
    # The longest life a token is issued for; 0: as long as it was asked for.
    max_expiration_seconds: int = 0
    # Whether the tokens that pods get injected live on for a year after they should have been replaced.
    extend_expiration: bool = True


@dataclass(frozen=True)
class OIDCSettings:
    """An issuer of OpenID Connect whose ID tokens are accepted."""

    # `https://...`, exactly as the tokens and its discovery document say it.
    issuer: str
    # A token must be for one of these: the client IDs.
    audiences: tuple[str, ...]
    username_claim: str = "sub"
    # Put before user names. By default the issuer and `#`, but nothing where the claim is `email`; `-` for nothing.
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    # Claims that a token must have, with these values.
    required_claims: Mapping[str, str] = field(default_factory=dict)
    # The authorities that its certificate may be of, in PEM; by default those that the system trusts.
    authority: Path | None = None
    # Of RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384 and PS512.
    signing_algorithms: tuple[str, ...] = ("RS256",)


@dataclass(frozen=True)
class AuthenticationSettings:
    """All of it. Certificates of the authorities that the TLS edge trusts are always accepted."""

    anonymous: Anonymous = "health"
    # Lines of `token,user,uid,"group1,group2"`.
    token_file: Path | None = None
    service_accounts: ServiceAccountSettings = ServiceAccountSettings()
    oidc: tuple[OIDCSettings, ...] = ()
