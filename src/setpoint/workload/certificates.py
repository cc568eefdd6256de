"""Certificates as files that OpenSSL finds: each by its thumbprint, a link by the hash of its subject, and a bundle of
all. For processes and containers; no I/O.

OpenSSL finds a certificate by a hash of its subject in a canonical form: texts as UTF-8, ASCII letters in lower case,
blanks trimmed and collapsed; the hash is the first four bytes of the SHA-1, in little-endian order.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_SEQUENCE, _SET, _OID, _UTF8 = 0x30, 0x31, 0x06, 0x0C
# UTF8String, PrintableString, T61String, IA5String, VisibleString, UniversalString, BMPString.
_TEXTS = frozenset((12, 19, 20, 22, 26, 28, 30))
_BLANKS = re.compile(r"[ \t\n\v\f\r]+")


class CertificateError(ValueError):
    """A text is not a valid certificate; the message names the certificate and the reason."""


class Links(NamedTuple):
    """The files of a set of certificates: `files` has texts by name, `links` has target files by link name, `skipped`
    has the errors of invalid certificates."""

    files: dict[str, str]
    links: dict[str, str]
    bundle: str
    skipped: tuple[str, ...] = ()


def certificate_files(certificates: Mapping[str, Any]) -> Links:
    """Returns the files of a `pemCertificates`. Raises CertificateError for an invalid certificate, unless
    `continueOnError` is set."""
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    skipped = []
    for index, each in enumerate(certificates.get("certificates") or ()):
        contents = str(each.get("contents") or "")
        try:
            hashed = subject_hash(contents)
        except CertificateError as error:
            message = f"pemCertificates.certificates[{index}]: {error}"
            if not certificates.get("continueOnError"):
                raise CertificateError(message) from None
            skipped.append(message)
            continue
        name = f"{each.get('thumbprint') or hashed}.pem"
        files[name] = contents
        links[link_name(hashed, links)] = name
    return Links(files, links, "\n".join(files.values()), tuple(skipped))


def link_name(hashed: str, used: Mapping[str, str]) -> str:
    """Returns the name of the link for a hash, numbered because different subjects may have the same hash."""
    number = 0
    while f"{hashed}.{number}" in used:
        number += 1
    return f"{hashed}.{number}"


def subject_hash(pem: str) -> str:
    """Returns the hash that `openssl x509 -hash` prints. Raises CertificateError."""
    from cryptography import x509  # slow to import

    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
    except ValueError as error:
        raise CertificateError(f"not a certificate in PEM format: {error}") from None
    canonical = b""
    for relative in certificate.subject.rdns:
        parts = []
        for attribute in relative:
            name = _der(_OID, _oid(attribute.oid.dotted_string))
            kind = attribute._type.value
            if isinstance(attribute.value, bytes):
                parts.append(_der(_SEQUENCE, name + _der(kind, attribute.value)))
            elif kind in _TEXTS:
                parts.append(_der(_SEQUENCE, name + _der(_UTF8, _canonical(attribute.value))))
            else:
                parts.append(_der(_SEQUENCE, name + _der(kind, attribute.value.encode())))
        canonical += _der(_SET, b"".join(sorted(parts)))
    return f"{int.from_bytes(hashlib.sha1(canonical).digest()[:4], 'little'):08x}"


def _canonical(text: str) -> bytes:
    collapsed = _BLANKS.sub(" ", text).strip(" ")
    return "".join(each.lower() if each.isascii() else each for each in collapsed).encode()


def _oid(dotted: str) -> bytes:
    first, second, *rest = (int(number) for number in dotted.split("."))
    return b"".join(_base128(number) for number in (40 * first + second, *rest))


def _base128(number: int) -> bytes:
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.append(0x80 | (number & 0x7F))
    return bytes(reversed(digits))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content
