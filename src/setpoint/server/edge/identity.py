"""The certificate authority of a server, and its certificate.

They are created at the first start and reused at later starts, so that clients keep trusting the server. The
certificate is renewed long before it expires, at the start or while the server runs; the authority is not.
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
from setpoint.server.server_keys import ServerKeys

AUTHORITY, ADMIN_TOKEN = "authority.pem", "admin.token"
_END = b"-----END CERTIFICATE-----\n"


def new_token() -> bytes:
    """Returns a random token."""
    return secrets.token_urlsafe(32).encode()


def token(keys: ServerKeys) -> str:
    """Returns the administrator's token: the kept one, or a new one. Raises OSError, or CertificateError if the kept
    one is empty."""
    found = keys.keep(ADMIN_TOKEN, new_token).decode("ascii", "replace").strip()
    if not found:
        raise CertificateError(f"{keys.place(ADMIN_TOKEN)} is empty; move the file away to create a new token")
    return found


def kept_authority(directory: Path, now: datetime) -> Authority:
    """Returns the authority stored in a directory. Raises OSError, or CertificateError if the authority is invalid or
    expired."""
    path = directory / AUTHORITY
    return valid_authority(path.read_bytes(), now, str(path))


def authority(keys: ServerKeys, now: datetime, name: str = AUTHORITY, called: str = "setpoint-ca") -> Authority:
    """Returns the authority that is kept under a name; a new one, `called` so, if there is none. Raises OSError, or
    CertificateError if the authority is invalid or expired."""
    found = keys.keep(name, lambda: joined(Authority.create(now, called).pair))
    return valid_authority(found, now, keys.place(name))


def valid_authority(data: bytes, now: datetime, place: str) -> Authority:
    """Returns an authority from the content of its file. Raises CertificateError, which names the place and the
    remedy."""
    try:
        found = Authority(parted(data))
    except CertificateError as error:
        raise CertificateError(f"{place}: {error}; move the file away to create a new authority") from error
    if found.expires <= now:
        raise CertificateError(f"{place}: the authority has expired; move the file away to create a new authority")
    return found


class Identity:
    """The authority and the certificate of a server, as a TLS context that is kept up to date."""

    renewal_seconds = 6 * 3600.0

    def __init__(self, names: Sequence[str], clock: Clock, keys: ServerKeys) -> None:
        """Loads or creates them. `names` are additional names of the server.

        Raises OSError, or CertificateError if the kept ones are invalid.
        """
        self._names = (*KUBERNETES_NAMES, *names)
        self._clock = clock
        self._keys, self._directory = keys, keys.directory
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
        found = authority(self._keys, self._clock.now())
        if self._directory is not None:
            public = self._directory / "ca.crt"
            if not public.exists() or public.read_bytes() != found.pair.certificate:
                secret_files.write(public, found.pair.certificate, 0o644)
        return found

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


def joined(pair: Pair) -> bytes:
    """Returns the content of a file with a certificate and its key."""
    return pair.certificate + pair.key


def parted(data: bytes) -> Pair:
    """Returns the certificate and the key of a file."""
    certificate, end, key = data.partition(_END)
    return Pair(certificate + end, key)
