"""The credentials of a server, stored in a directory: its certificate authority, its certificate, the administrator's
token.

They are created at the first start and reused at later starts, so that clients keep trusting the server. Without a
directory they exist only in the process. The certificate is renewed long before it expires, at the start or while the
server runs; the authority is not.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from setpoint.objects.clock import Clock
from setpoint.server import secret_files
from setpoint.server.certificate_pair import load_pair
from setpoint.server.edge.certificates import KUBERNETES_NAMES, Authority, CertificateError, Pair
from setpoint.server.edge.tls import server_context
from setpoint.store.files import make_directory

_AUTHORITY = "authority.pem"
_END = b"-----END CERTIFICATE-----\n"


def token(directory: Path | None) -> str:
    """Returns the administrator's token: the stored one, or a new one."""
    made = secrets.token_urlsafe(32)
    if directory is None:
        return made
    _prepare(directory)
    return secret_files.write_once(directory / "admin.token", made.encode()).decode("ascii", "replace").strip() or made


def kept_authority(directory: Path, now: datetime, file: str = _AUTHORITY) -> Authority:
    """Returns the authority stored in a file of a directory. Raises OSError, or CertificateError if the authority is
    invalid or expired."""
    path = directory / file
    try:
        authority = Authority(parted(path.read_bytes()))
    except CertificateError as error:
        raise CertificateError(f"{path}: {error}; move the file away to create a new authority") from error
    if authority.expires <= now:
        raise CertificateError(f"{path}: the authority has expired; move the file away to create a new authority")
    return authority


class Identity:
    """The authority and the certificate of a server, as a TLS context that is kept up to date."""

    renewal_seconds = 6 * 3600.0

    def __init__(self, names: Sequence[str], clock: Clock, directory: Path | None = None) -> None:
        """Loads or creates them. `names` are additional names of the server.

        Raises OSError, or CertificateError if the files in the directory are invalid.
        """
        self._names = (*KUBERNETES_NAMES, *names)
        self._clock = clock
        self._directory = directory
        if directory is not None:
            _prepare(directory)
        self.authority = self._find_authority()
        self.context = server_context(self.authority.pair.certificate.decode("ascii"))
        self._serving = self._find_serving()
        self._load()

    @property
    def server_authority(self) -> str:
        """The certificate of the authority, in PEM: clients verify the server with it."""
        return self.authority.pair.certificate.decode("ascii")

    @property
    def client_authority(self) -> str:
        """The authority that verifies client certificates: the same."""
        return self.server_authority

    def renew(self) -> bool:
        """Replaces the certificate if it expires soon; later connections use the new one."""
        if self.authority.still_serves(self._serving, self._names, self._clock.now()):
            return False
        self._serving = self._issue()
        self._load()
        return True

    def _find_authority(self) -> Authority:
        now = self._clock.now()
        if self._directory is None:
            return Authority.create(now)
        path = self._directory / _AUTHORITY
        if not path.exists():
            secret_files.write_once(path, joined(Authority.create(now).pair))
        authority = kept_authority(self._directory, now)
        public = self._directory / "ca.crt"
        if not public.exists() or public.read_bytes() != authority.pair.certificate:
            secret_files.write(public, authority.pair.certificate, 0o644)
        return authority

    def _find_serving(self) -> Pair:
        if self._directory is not None and (path := self._directory / "server.pem").exists():
            pair = parted(path.read_bytes())
            if self.authority.still_serves(pair, self._names, self._clock.now()):
                return pair
        return self._issue()

    def _issue(self) -> Pair:
        pair = self.authority.issue_server(self._names, self._clock.now())
        if self._directory is not None:
            secret_files.write(self._directory / "server.pem", joined(pair))
        return pair

    def _load(self) -> None:
        load_pair(self.context, joined(self._serving))


def _prepare(directory: Path) -> None:
    make_directory(directory)


def joined(pair: Pair) -> bytes:
    """Returns the content of a file with a certificate and its key."""
    return pair.certificate + pair.key


def parted(data: bytes) -> Pair:
    """Returns the certificate and the key of a file."""
    certificate, end, key = data.partition(_END)
    return Pair(certificate + end, key)
