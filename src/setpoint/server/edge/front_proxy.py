"""The certificate by which extension API servers recognize this server, of an authority of its own.

Extension servers believe the user names that a client with a certificate of this authority states. So the authority
signs no other certificates: the certificate of a user must not suffice to act as another user.
"""

from datetime import datetime
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server import secret_files
from setpoint.server.edge.certificates import LIFETIME, RENEWAL, Authority
from setpoint.server.edge.identity import joined, kept_authority
from setpoint.store.files import make_directory

CLIENT = "front-proxy-client"
_FILE = "front-proxy.pem"


class FrontProxy:
    """The authority and the client certificate. In a directory, the authority is created once and kept."""

    def __init__(self, clock: Clock, directory: Path | None) -> None:
        """Raises OSError or CertificateError."""
        self._clock = clock
        self._authority = _authority(clock.now(), directory)
        self._pair, self._renewal = b"", clock.now()

    @property
    def authority(self) -> str:
        """The certificate of the authority, PEM."""
        return self._authority.pair.certificate.decode("ascii")

    def pair(self) -> bytes:
        """Returns the client certificate and its key, PEM. A new one is issued long before the old one expires."""
        now = self._clock.now()
        if now >= self._renewal:
            self._pair = joined(self._authority.issue_client(CLIENT, (), now))
            self._renewal = now + LIFETIME - RENEWAL
        return self._pair


def _authority(now: datetime, directory: Path | None) -> Authority:
    if directory is not None and (directory / _FILE).exists():
        return kept_authority(directory, now, _FILE)
    made = Authority.create(now, "front-proxy-ca")
    if directory is None:
        return made
    make_directory(directory)
    secret_files.write_once(directory / _FILE, joined(made.pair))
    return kept_authority(directory, now, _FILE)
