"""A server certificate given by the client of an instance. The certificate must be for this machine and valid now."""

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from setpoint.cli.support.errors import Failure
from setpoint.objects.clock import Clock

if TYPE_CHECKING:
    from setpoint.server.edge.tls import Certificates

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class GivenCertificate(NamedTuple):
    """The files to serve with, the certificate authority that clients trust, and the host name."""

    files: "Certificates"
    authority: bytes
    host: str


def given_certificate(
    certificate: str, key: str, authority: str, preferred: str, clock: Clock
) -> GivenCertificate | None:
    """Returns the certificate that the flags name, or None. `preferred` is the address to serve at. Raises Failure."""
    from cryptography import x509

    from setpoint.server.edge.tls import Certificates

    if not (certificate or key):
        if authority:
            raise Failure("--tls-ca-file requires --tls-cert-file and --tls-key-file")
        return None
    if not (certificate and key):
        raise Failure("--tls-cert-file and --tls-key-file must be given together")
    try:
        text = Path(certificate).read_bytes()
        found = x509.load_pem_x509_certificates(text)[0]
        trusted = Path(authority).read_bytes() if authority else text
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise Failure(f"{certificate} contains no certificate: {error}") from None
    if not found.not_valid_before_utc <= clock.now() <= found.not_valid_after_utc:
        raise Failure(
            f"{certificate} is not valid now: its validity is {found.not_valid_before_utc} to "
            f"{found.not_valid_after_utc}"
        )
    names = _names(found)
    host = next((each for each in (preferred, *_LOOPBACK) if each in names), None)
    if host is None:
        raise Failure(
            f"{certificate} is for {', '.join(sorted(names)) or 'no host'}: expected {' or '.join(_LOOPBACK)}"
        )
    return GivenCertificate(Certificates(Path(certificate), Path(key)), trusted, host)


def _names(certificate: object) -> set[str]:
    from cryptography import x509

    assert isinstance(certificate, x509.Certificate)
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = {str(ip_address(str(each))) for each in found.get_values_for_type(x509.IPAddress)}
    return addresses | {name.lower() for name in found.get_values_for_type(x509.DNSName)}
