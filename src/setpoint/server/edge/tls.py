"""The TLS settings of the edge, and serving with certificates that an external tool provides."""

import ssl
from pathlib import Path
from typing import NamedTuple

from setpoint.objects.pem import certificates_in
from setpoint.server.edge.authority_names import announce_authorities


class Certificates(NamedTuple):
    """PEM files: the serving certificate and its key, and the authorities that client certificates are verified with.

    Without authorities, client certificates do not authenticate.
    """

    certificate: Path
    key: Path
    client_authorities: Path | None = None


def server_context(client_authorities: str = "") -> ssl.SSLContext:
    """Returns the TLS context of a server. Clients may, but need not, present a certificate of these authorities."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if client_authorities:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=client_authorities)
        announce_authorities(context, client_authorities)
    return context


class Provided:
    """Certificates that an external tool creates and renews, as a TLS context that follows the files."""

    renewal_seconds = 60.0

    def __init__(self, files: Certificates) -> None:
        """Raises OSError, or ValueError if a file has invalid content."""
        self._files = files
        self._seen = self._times()
        # The authorities that verify client certificates, in PEM; empty if there are none.
        self.client_authority = ""
        if files.client_authorities is not None:
            self.client_authority = files.client_authorities.read_text("ascii", "replace")
        try:
            self.context = server_context(self.client_authority)
        except ssl.SSLError as error:
            raise ValueError(f"{files.client_authorities} contains no valid CA certificates: {error}") from error
        self._load()

    @property
    def server_authority(self) -> str:
        """The certificates (in PEM) that clients can verify the server with: those of the serving certificate's file,
        which may end with those of its authority."""
        return "".join(certificates_in(self._files.certificate.read_text("ascii", "replace")))

    def renew(self) -> bool:
        """Reloads the certificate if the files have changed; later connections use the new one. Raises as the
        constructor does, and then keeps the current certificate."""
        times = self._times()
        if times == self._seen:
            return False
        self._load()
        self._seen = times
        return True

    def _load(self) -> None:
        try:
            # Without a password, OpenSSL would prompt for one on the terminal.
            self.context.load_cert_chain(self._files.certificate, self._files.key, password="")
        except ssl.SSLError as error:
            raise ValueError(
                f"{self._files.certificate} and {self._files.key} are not a certificate and its matching key: {error}"
            ) from error

    def _times(self) -> tuple[int, int]:
        return self._files.certificate.stat().st_mtime_ns, self._files.key.stat().st_mtime_ns
