"""Converts sections of the configuration into the options of the control plane's components."""

from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.config.settings import Authentication, Config, Limits
from setpoint.server.access.authentication.settings import AuthenticationSettings, OIDCSettings, ServiceAccountSettings
from setpoint.server.edge.limits import Limits as EdgeLimits
from setpoint.store.contract import Retention

if TYPE_CHECKING:
    from setpoint.server.edge.tls import Certificates


def edge_limits(limits: Limits) -> EdgeLimits:
    return EdgeLimits()._replace(**{name: getattr(limits, name) for name in limits.__struct_fields__})


def authentication(section: Authentication) -> AuthenticationSettings:
    accounts = section.service_accounts
    return AuthenticationSettings(
        anonymous=section.anonymous,
        token_file=_path(section.token_file),
        service_accounts=ServiceAccountSettings(
            issuers=accounts.issuers,
            audiences=accounts.audiences,
            signing_key=_path(accounts.signing_key_file),
            verification_keys=tuple(map(Path, accounts.verification_key_files)),
            jwks_uri=accounts.jwks_uri,
            max_expiration_seconds=accounts.max_token_seconds,
            extend_expiration=accounts.extend_token_expiration,
        ),
        oidc=tuple(
            OIDCSettings(
                issuer=each.issuer,
                audiences=each.audiences,
                username_claim=each.username_claim,
                username_prefix=each.username_prefix,
                groups_claim=each.groups_claim,
                groups_prefix=each.groups_prefix,
                required_claims=each.required_claims,
                authority=_path(each.authority_file),
                signing_algorithms=each.signing_algorithms,
            )
            for each in section.oidc
        ),
    )


def retention(config: Config) -> Retention | None:
    """Returns the retention of the history; None for the store's defaults."""
    history = config.history
    found = Retention(history.seconds, history.revisions, history.size)
    return None if found == Retention() else found


def tls(config: Config) -> "bool | Certificates":
    """Returns the `tls` argument of `ControlPlane.listen`."""
    if config.plain_http:
        return False
    if not config.tls.certificate_file:
        return True
    from setpoint.server.edge.tls import Certificates

    given = config.tls
    return Certificates(Path(given.certificate_file), Path(given.private_key_file), _path(given.client_authority_file))


def _path(text: str) -> Path | None:
    return Path(text) if text else None
