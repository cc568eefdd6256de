"""The connection settings of an etcd cluster: endpoints, TLS, user, root key prefix, and timeouts.

`EtcdConfig.from_url` parses the URL that the command line accepts:
`http[s]://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/ROOT][?ca=FILE&cert=FILE&key=FILE&server-name=NAME]`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from setpoint.store.contract import StoreError

DEFAULT_PORT = 2379
DEFAULT_ROOT = "/setpoint"


class Tls(NamedTuple):
    """The PEM texts of TLS: `ca` verifies etcd (None: the system's certificate authorities); `certificate` and `key`
    authenticate this client."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    server_name: str | None = None  # the name to expect in etcd's certificate, if different from the endpoint's


class EtcdConfig(NamedTuple):
    """One cluster and the root of this store. Stores that share `endpoints` and `root` are replicas of each other."""

    endpoints: tuple[str, ...]  # each "host:port"
    root: str = DEFAULT_ROOT
    tls: Tls | None = None
    user: str | None = None
    password: str | None = None
    request_timeout: float = 5.0  # seconds after which one request counts as lost
    patience: float = 15.0  # seconds for which an operation retries before failing
    outage: float = 1.6  # seconds without a quorum, as far as known, after which operations fail

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    def __repr__(self) -> str:
        """Returns the configuration without the password and the key, for logs."""
        return f"EtcdConfig({self.scheme}://{','.join(self.endpoints)}{self.root})"

    @classmethod
    def from_url(cls, url: str, read: Callable[[str], bytes] = lambda path: Path(path).read_bytes()) -> "EtcdConfig":
        """Parses a URL, and reads the files that the URL names. Raises StoreError for an invalid URL."""
        # urlsplit rejects IPv6 addresses after the first host, so the hosts are taken out before.
        scheme, _, rest = url.partition("://")
        netloc = re.split(r"[/?#]", rest, maxsplit=1)[0]
        parts = urlsplit(f"{scheme}://hosts{rest.removeprefix(netloc)}")
        if parts.scheme not in ("http", "https"):
            raise StoreError(f"etcd URL {_shown(url)}: it must begin with http:// or https://")
        login, _, hosts = netloc.rpartition("@")
        endpoints = tuple(_endpoint(host, url) for host in hosts.split(","))
        user, _, password = login.partition(":")
        return cls(
            endpoints,
            unquote(parts.path).rstrip("/") or DEFAULT_ROOT,
            _tls(parts.scheme, dict(parse_qsl(parts.query, keep_blank_values=True)), url, read),
            unquote(user) or None,
            unquote(password) if login else None,
        )


def _endpoint(host: str, url: str) -> str:
    """Returns a host with its port, or the default port. IPv6 addresses are in brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, str(DEFAULT_PORT)
    if not name or not port.isdigit():
        raise StoreError(f"etcd URL {_shown(url)}: {host!r} is not HOST or HOST:PORT")
    return f"{name}:{port}"


def _tls(scheme: str, options: dict[str, str], url: str, read: Callable[[str], bytes]) -> Tls | None:
    files: dict[str, bytes | None] = {"ca": None, "cert": None, "key": None}
    server_name = options.pop("server-name", None)
    for name, path in options.items():
        if name not in files:
            raise StoreError(f"etcd URL {_shown(url)}: unknown option {name!r}; there are ca, cert, key, server-name")
        try:
            files[name] = read(path)
        except OSError as error:
            raise StoreError(f"etcd URL {_shown(url)}: cannot read {name} {path}: {error.strerror or error}") from error
    if scheme == "http":
        if options or server_name:
            raise StoreError(f"etcd URL {_shown(url)}: ca, cert, key and server-name need https://")
        return None
    if (files["cert"] is None) != (files["key"] is None):
        raise StoreError(f"etcd URL {_shown(url)}: a client certificate needs both cert and key")
    return Tls(files["ca"], files["cert"], files["key"], server_name)


def _shown(url: str) -> str:
    """Returns the URL without its login."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
