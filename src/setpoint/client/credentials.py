"""Credentials: the headers that authenticate each request, and TLS client certificates.

Each class is called with the headers that the server rejected (None for the first attempt) and returns the headers to
send.
"""

import asyncio
import os
import ssl
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from setpoint.client.transport import CredentialsError

# The minimum time between two checks of files for changes.
_RELOAD_SECONDS = 1.0

Stamp = tuple[tuple[int, int, int] | None, ...]


class Fixed:
    """Credentials that never change."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    async def __call__(self, refused: Mapping[str, str] | None) -> Mapping[str, str]:
        return self._headers


def bearer(token: str) -> Fixed:
    """Returns credentials with a bearer token."""
    return Fixed({"authorization": f"Bearer {token}"})


def basic(user: str, password: str) -> Fixed:
    """Returns credentials with a user name and a password."""
    return Fixed({"authorization": "Basic " + b64encode(f"{user}:{password}".encode()).decode()})


class TokenFile:
    """A bearer token from a file. The file is read again after a change, as the tokens of pods are rotated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: Stamp | None = None
        self._headers: Mapping[str, str] = {}
        self._next_check = float("-inf")

    async def __call__(self, refused: Mapping[str, str] | None) -> Mapping[str, str]:
        now = asyncio.get_running_loop().time()
        if refused is not None or now >= self._next_check:
            self._next_check = now + _RELOAD_SECONDS
            self._reload()
        return self._headers

    def _reload(self) -> None:
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            token = self._path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._headers:
                return  # the file is being replaced: the previous token stays valid for a while
            raise CredentialsError(f"cannot read the token: {error}") from None
        if not token:
            raise CredentialsError(f"the file {self._path} contains no token")
        self._stamp, self._headers = stamp, {"authorization": f"Bearer {token}"}


class Pem(NamedTuple):
    """A PEM text (certificates or a key), given directly or as the path of a file."""

    text: str = ""
    path: Path | None = None

    def read(self) -> str:
        """Returns the PEM text. Raises OSError."""
        return self.text if self.path is None else self.path.read_text("ascii")

    def __bool__(self) -> bool:
        return bool(self.text) or self.path is not None


NOTHING = Pem()


class Trust:
    """The trusted certificate authorities and the client certificate. Builds the TLS context of new connections.

    With certificates from files, the context is built again after the files change. `use_certificate` replaces the
    client certificate.
    """

    def __init__(
        self, *, authority: Pem = NOTHING, certificate: Pem = NOTHING, key: Pem = NOTHING, insecure: bool = False
    ) -> None:
        self._authority = authority
        self._certificate = certificate
        self._key = key
        self._insecure = insecure
        self._files = [pem.path for pem in (authority, certificate, key) if pem.path is not None]
        self._stamp: Stamp = ()
        self._context: ssl.SSLContext | None = None
        self._next_check = float("-inf")

    def __call__(self) -> ssl.SSLContext:
        """Returns the current TLS context. Raises CredentialsError if no context could be built yet."""
        if self._context is None:
            self._stamp = _stamp(*self._files)
            try:
                self._context = self.build()
            except (OSError, ValueError) as error:
                raise CredentialsError(str(error)) from None
            return self._context
        if self._files:
            now = asyncio.get_running_loop().time()
            if now >= self._next_check:
                self._next_check = now + _RELOAD_SECONDS
                self._reload()
        return self._context

    def _reload(self) -> None:
        stamp = _stamp(*self._files)
        if stamp != self._stamp:
            # Possibly only some of the files are replaced yet: then the next check loads them.
            with suppress(OSError, ValueError):
                self._context = self.build()
                self._stamp = stamp

    def use_certificate(self, certificate: str, key: str) -> None:
        """Replaces the client certificate for new connections. Raises ValueError."""
        if (certificate, key) != (self._certificate.text, self._key.text):
            self._certificate, self._key = Pem(certificate), Pem(key)
            self._context = self.build()

    def build(self) -> ssl.SSLContext:
        """Builds a new TLS context. Raises OSError if a file cannot be read, and ValueError for an invalid certificate
        or key."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # A certificate in the trusted set is trusted regardless of its issuer, as in Go.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self._authority:
            try:
                context.load_verify_locations(cadata=self._authority.read())
            except (ssl.SSLError, UnicodeDecodeError):
                raise ValueError(f"{_name(self._authority, 'the authority')} has no PEM certificate") from None
        else:
            context.load_default_certs()
        if self._certificate:
            self._load(context, self._certificate.read(), self._key.read())
        return context

    def _load(self, context: ssl.SSLContext, certificate: str, key: str) -> None:
        import tempfile  # imported late: most clients use a token

        # OpenSSL loads certificates only from a file: this one is readable by the current user only, and deleted at
        # once.
        descriptor, path = tempfile.mkstemp(suffix=".pem")
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{certificate}\n{key}\n")
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            what = f"{_name(self._certificate, 'the certificate')} and {_name(self._key, 'its key')}"
            reason = (error.reason or "not a PEM certificate and key").replace("_", " ").lower()
            raise ValueError(f"{what} cannot be used: {reason}") from None
        finally:
            os.unlink(path)


def _name(pem: Pem, what: str) -> str:
    return what if pem.path is None else str(pem.path)


def _stamp(*paths: Path) -> Stamp:
    """Returns a value for each file that changes when the file is written or replaced."""
    found: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            stat = path.stat()
            found.append((stat.st_mtime_ns, stat.st_ino, stat.st_size))
        except OSError:
            found.append(None)
    return tuple(found)
