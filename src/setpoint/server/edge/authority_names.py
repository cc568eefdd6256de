"""The names of acceptable authorities in a TLS CertificateRequest, by which clients with several certificates choose.

Python's `ssl` verifies client certificates, but has no function to announce the names of their authorities. OpenSSL has
one, which is called here directly, with the OpenSSL context of the Python object: the first field after the header of
the object, in every CPython from 3.11 to 3.14. On any other interpreter no names are announced; clients then offer any
certificate, which is verified as before.
"""

import ctypes
import os
import ssl
import sys
import tempfile

# The versions of CPython whose layout of SSLContext is known.
_KNOWN = ((3, 11), (3, 12), (3, 13), (3, 14))


def announce_authorities(context: ssl.SSLContext, authorities: str) -> bool:
    """Announces the names of authorities (certificates in PEM) to the clients of a server. Returns False if this is not
    possible in this interpreter."""
    library = _openssl()
    if library is None:
        return False
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    descriptor, path = tempfile.mkstemp(prefix="setpoint-", suffix=".pem")
    try:
        with open(descriptor, "w", encoding="ascii", errors="replace") as file:
            file.write(authorities)
        names = library.SSL_load_client_CA_file(os.fsencode(path))
    finally:
        os.unlink(path)
    if not names:
        return False
    library.SSL_CTX_set_client_CA_list(pointer, names)  # the context owns the list now
    return True


def _openssl() -> ctypes.CDLL | None:
    """Returns the library that `ssl` uses, or None if unknown."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _KNOWN:
        return None
    try:
        import _ssl

        library = ctypes.CDLL(_ssl.__file__)
        load, announce = library.SSL_load_client_CA_file, library.SSL_CTX_set_client_CA_list
    except (ImportError, AttributeError, OSError):  # built into the interpreter, or without these functions
        return None
    load.argtypes, load.restype = [ctypes.c_char_p], ctypes.c_void_p
    announce.argtypes, announce.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    return library
