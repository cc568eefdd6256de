"""Creates the authenticator and the token issuer from the settings. Errors name the setting that cannot be used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from setpoint.objects.clock import Clock
from setpoint.server.access.authentication.credentials import Credentials
from setpoint.server.access.authentication.settings import AuthenticationSettings, OIDCSettings
from setpoint.server.access.authentication.token_file import read_token_file
from setpoint.server.access.authentication.token_issuer import Issuer
from setpoint.server.ports import User
from setpoint.server.server_keys import ServerKeys

if TYPE_CHECKING:
    from setpoint.server.access.authentication.oidc import OIDCTokens


@dataclass(frozen=True)
class Authentication:
    """The authentication components of a server, with functions to close and reload them."""

    credentials: Credentials
    issuer: Issuer
    close: Callable[[], None]
    # Reads the token file again and forgets users that were removed from the file. Raises OSError or ValueError.
    reload: Callable[[], None]


def assemble(
    settings: AuthenticationSettings, tokens: Mapping[str, User], clock: Clock, keys: ServerKeys | None = None
) -> Authentication:
    """Creates the components that the settings describe. `tokens` are accepted in addition to the token file and take
    precedence.

    The signing key of service accounts is one of the keys of the server. Raises OSError or ValueError.
    """
    issuer = Issuer(settings.service_accounts, keys)
    others = [_oidc(each, place, issuer, clock) for place, each in enumerate(settings.oidc)]

    def close() -> None:
        for other in others:
            other.close()

    def known() -> Mapping[str, User]:
        return {**(read_token_file(settings.token_file) if settings.token_file is not None else {}), **tokens}

    credentials = Credentials(known(), others=others, anonymous=settings.anonymous)
    return Authentication(credentials, issuer, close, lambda: credentials.set_tokens(known()))


def _oidc(settings: OIDCSettings, place: int, issuer: Issuer, clock: Clock) -> "OIDCTokens":
    from setpoint.server.access.authentication.jwt import ALGORITHMS
    from setpoint.server.access.authentication.oidc import OIDCTokens

    field = f"oidc[{place}]"
    url = urlsplit(settings.issuer)
    if url.scheme != "https" or not url.netloc or url.query or url.fragment:
        raise ValueError(f"{field}.issuer: {settings.issuer!r} must be an https:// URL without query and fragment")
    if settings.issuer in issuer.settings.issuers:
        raise ValueError(f"{field}.issuer: {settings.issuer} is the issuer of this server's service accounts")
    if not settings.audiences:
        raise ValueError(f"{field}.audiences: at least one audience is required, such as the client ID")
    if not settings.username_claim:
        raise ValueError(f"{field}.username_claim: must not be empty")
    for algorithm in settings.signing_algorithms:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"{field}.signing_algorithms: {algorithm!r} is not one of {', '.join(sorted(ALGORITHMS))}")
    authorities = settings.authority.read_bytes() if settings.authority is not None else b""
    return OIDCTokens(settings, authorities, issuer.audiences, clock)
