"""Loads a certificate and its key from memory into a TLS context."""

import os
import ssl
import tempfile


def load_pair(context: ssl.SSLContext, pair: bytes) -> None:
    """Loads a certificate and its key, both PEM, into a context; later connections use them."""
    # The context reads certificates from files only.
    descriptor, path = tempfile.mkstemp(prefix="setpoint-", suffix=".pem")
    try:
        with open(descriptor, "wb") as file:
            file.write(pair)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
