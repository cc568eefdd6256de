"""PEM files: the certificates in them."""

import re

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def certificates_in(text: str) -> list[str]:
    """Returns the certificates of a PEM file, each with a line end; other parts, such as keys, are left out."""
    return [f"{found}\n" for found in _CERTIFICATE.findall(text)]
