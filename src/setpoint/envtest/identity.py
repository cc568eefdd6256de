"""Certificates and authentication of the server from kube-apiserver's flags: token files, service accounts, OIDC."""

from pathlib import Path

from setpoint.config.settings import Authentication, Oidc, ServiceAccounts
from setpoint.envtest.flags import FlagError, Flags
from setpoint.objects.clock import SystemClock
from setpoint.server import secret_files
from setpoint.server.access.authentication.settings import DEFAULT_ISSUER
from setpoint.server.edge.tls import Certificates
from setpoint.store.files import make_directory

_CERTIFICATES = "/var/run/kubernetes"


def certificates(flags: Flags) -> Certificates:
    """Returns the serving certificate. If `--cert-dir` has none yet, creates one, as kube-apiserver does."""
    authorities = _path(flags, "client-ca-file")
    certificate, key = _path(flags, "tls-cert-file"), _path(flags, "tls-private-key-file")
    if certificate is not None and key is not None:
        return Certificates(certificate, key, authorities)
    if certificate is not None or key is not None:
        raise FlagError("--tls-cert-file and --tls-private-key-file must be given together")
    directory = Path(flags.text("cert-dir", _CERTIFICATES))
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    if not certificate.exists():
        _make(certificate, key, flags.text("bind-address", "localhost"))
    return Certificates(certificate, key, authorities)


def _make(certificate: Path, key: Path, host: str) -> None:
    from setpoint.server.edge.certificates import KUBERNETES_NAMES, Authority

    now = SystemClock().now()
    authority = Authority.create(now)
    pair = authority.issue_server([*KUBERNETES_NAMES, host], now)
    make_directory(certificate.parent)
    secret_files.write(key, pair.key)
    secret_files.write(certificate, pair.certificate + authority.pair.certificate, 0o644)


def authentication(flags: Flags) -> Authentication:
    """Returns the authentication settings beside client certificates."""
    accounts = ServiceAccounts(
        issuers=tuple(flags.many("service-account-issuer", [DEFAULT_ISSUER])),
        signing_key_file=flags.text("service-account-signing-key-file"),
        verification_key_files=tuple(flags.many("service-account-key-file")),
        audiences=tuple(flags.many("api-audiences")),
        jwks_uri=flags.text("service-account-jwks-uri"),
    )
    return Authentication(
        anonymous="always" if flags.switch("anonymous-auth", True) else "never",
        token_file=flags.text("token-auth-file"),
        service_accounts=accounts,
        oidc=_oidc(flags),
    )


def _oidc(flags: Flags) -> tuple[Oidc, ...]:
    issuer = flags.text("oidc-issuer-url")
    if not issuer:
        return ()
    claims = (claim.partition("=") for claim in flags.many("oidc-required-claim"))
    return (
        Oidc(
            issuer=issuer,
            audiences=(flags.text("oidc-client-id"),),
            username_claim=flags.text("oidc-username-claim", "sub"),
            username_prefix=flags.text("oidc-username-prefix"),
            groups_claim=flags.text("oidc-groups-claim"),
            groups_prefix=flags.text("oidc-groups-prefix"),
            required_claims={name: value for name, _, value in claims},
            authority_file=flags.text("oidc-ca-file"),
            signing_algorithms=tuple(flags.many("oidc-signing-algs", ["RS256"])),
        ),
    )


def _path(flags: Flags, name: str) -> Path | None:
    text = flags.text(name)
    return Path(text) if text else None
