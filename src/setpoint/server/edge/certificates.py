"""Certificates: a certificate authority, and the certificates that the authority issues to servers and users.

All input and output is PEM text; the caller decides on the storage. Keys are ECDSA on P-256, which every client
supports and which are generated in a fraction of a millisecond. Keys and serial numbers come only from the system's
source of randomness, because reproducible random numbers are not secret.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)
# A certificate is renewed when this time or less remains.
RENEWAL = timedelta(days=90)

# The names under which clients inside a cluster reach the API server, and the local names of this machine.
KUBERNETES_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "localhost",
    "127.0.0.1",
    "::1",
)

# The form whose first line names the algorithm (EC PRIVATE KEY). Java clients choose the algorithm of the key of a
# kubeconfig by that line, and read a key without the name as RSA.
_NAMED = serialization.PrivateFormat.TraditionalOpenSSL
_PublicKey: TypeAlias = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey
_MAX_REQUEST = 16 << 10  # bytes; a request with the longest RSA key that OpenSSL verifies has half of them
_CLOCK_SKEW = timedelta(minutes=5)
_MAX_NAME = 64  # characters that X.509 allows in a common name or an organization


class CertificateError(ValueError):
    """An invalid certificate or key, or a pair that does not belong together."""


class Pair(NamedTuple):
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority, which signs certificates."""

    def __init__(self, pair: Pair) -> None:
        """Raises CertificateError."""
        self.pair = pair
        try:
            self._certificate = x509.load_pem_x509_certificate(pair.certificate)
            key = serialization.load_pem_private_key(pair.key, None)
        except (ValueError, TypeError) as error:
            raise CertificateError(f"not a certificate with its key in PEM: {error}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise CertificateError("the key of the authority is not an ECDSA key")
        if key.public_key() != self._certificate.public_key():
            raise CertificateError("the key of the authority does not match its certificate")
        self._key = key

    @classmethod
    def create(cls, now: datetime, name: str = "setpoint-ca") -> "Authority":
        """Creates a new, self-signed authority."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _builder(subject, subject, key.public_key(), now, AUTHORITY_LIFETIME)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        certificate = builder.sign(key, hashes.SHA256())
        return cls(Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key)))

    @property
    def expires(self) -> datetime:
        return self._certificate.not_valid_after_utc

    def issue_server(self, names: Iterable[str], now: datetime) -> Pair:
        """Returns a certificate for a server with these names and addresses."""
        found = [_general_name(name) for name in dict.fromkeys(names)]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, x509.SubjectAlternativeName(found), ExtendedKeyUsageOID.SERVER_AUTH, now)

    def issue_client(self, user: str, groups: Sequence[str], now: datetime, lifetime: timedelta | None = None) -> Pair:
        """Returns a certificate that authenticates a client as this user, in these groups: valid for `lifetime` or a
        year, but not longer than the authority."""
        return self._issue(
            _client_name(user, groups), None, ExtendedKeyUsageOID.CLIENT_AUTH, now, lifetime or LIFETIME, _NAMED
        )

    def sign_client(self, request: bytes, now: datetime, lifetime: timedelta, *, enciphers: bool = False) -> bytes:
        """Returns the certificate, in PEM, of a client that made a certificate request (PKCS #10, PEM). The subject and
        the key are those of the request; `enciphers` permits key encipherment. Raises CertificateError."""
        if len(request) > _MAX_REQUEST:
            raise CertificateError(f"invalid certificate request: {len(request)} bytes, at most {_MAX_REQUEST}")
        try:
            found = x509.load_pem_x509_csr(request)
            is_valid = found.is_signature_valid
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise CertificateError(f"invalid certificate request: {error}") from error
        key = found.public_key()
        if not is_valid or not isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey, ed25519.Ed25519PublicKey)):
            raise CertificateError(
                "invalid certificate request: the signature does not match a key of type RSA, ECDSA or Ed25519"
            )
        builder = self._builder_of(
            found.subject, key, ExtendedKeyUsageOID.CLIENT_AUTH, now, lifetime, enciphers=enciphers
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _issue(
        self,
        subject: x509.Name,
        names: x509.SubjectAlternativeName | None,
        purpose: x509.ObjectIdentifier,
        now: datetime,
        lifetime: timedelta = LIFETIME,
        form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder_of(subject, key.public_key(), purpose, now, lifetime)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key, form))

    def _builder_of(
        self,
        subject: x509.Name,
        key: _PublicKey,
        purpose: x509.ObjectIdentifier,
        now: datetime,
        lifetime: timedelta,
        *,
        enciphers: bool = False,
    ) -> x509.CertificateBuilder:
        """Returns a certificate that is not signed yet, valid no longer than the authority."""
        return (
            _builder(subject, self._certificate.subject, key, now, min(lifetime, self.expires - now))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False, enciphers=enciphers), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )

    def still_serves(self, pair: Pair, names: Iterable[str], now: datetime) -> bool:
        """Returns True if a serving certificate is valid, issued by this authority, covers these names and does not
        expire soon."""
        try:
            certificate = x509.load_pem_x509_certificate(pair.certificate)
            key = serialization.load_pem_private_key(pair.key, None)
            certificate.verify_directly_issued_by(self._certificate)
            found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False  # a new certificate solves any problem
        return (
            key.public_key() == certificate.public_key()
            and certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEWAL
            and {_general_name(name) for name in names} <= set(found)
        )


def certificate_request(user: str, groups: Sequence[str]) -> tuple[bytes, bytes]:
    """Returns a certificate request for a client with this name and groups, and its new key, both PEM. Raises
    CertificateError."""
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder(_client_name(user, groups)).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM), _pem(key, _NAMED)


def _client_name(user: str, groups: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, _checked(group, "group")) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, _checked(user, "user"))])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: _PublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - _CLOCK_SKEW, now + lifetime)


def _usage(*, signs_certificates: bool, enciphers: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=enciphers,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        try:
            return x509.DNSName(name.encode("idna").decode() if not name.isascii() else name)
        except (UnicodeError, ValueError) as error:
            raise CertificateError(
                f"{name!r} is neither an IP address nor a valid DNS name for a certificate"
            ) from error


def _checked(name: str, description: str) -> str:
    if not 0 < len(name) <= _MAX_NAME:
        raise CertificateError(
            f"invalid {description} {name!r}: must have 1 to {_MAX_NAME} characters to fit into a certificate"
        )
    return name


def _pem(
    key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
