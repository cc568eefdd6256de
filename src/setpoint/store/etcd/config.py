"""Where an etcd cluster is and how to talk to it: endpoints, TLS, a user, our root in its key space, our patience.

`EtcdConfig.from_url` reads the form that the command line takes:
`http[s]://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/ROOT][?ca=FILE&cert=FILE&key=FILE&server-name=NAME]`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from setpoint.store.contract import StoreError

DEFAULT_PORT = 2379
DEFAULT_ROOT = "/setpoint"


class Tls(NamedTuple):
    """The PEM texts that prove etcd to us (`ca`; None: the machine's own authorities) and us to etcd (both others)."""

    ca: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    server_name: str | None = None  # the name to look for in etcd's certificate, when it is not that of the endpoint


class EtcdConfig(NamedTuple):
    """One cluster and our part of it. Stores that share `endpoints` and `root` are replicas of each other."""

    endpoints: tuple[str, ...]  # each "host:port"
    root: str = DEFAULT_ROOT
    tls: Tls | None = None
    user: str | None = None
    password: str | None = None
    request_timeout: float = 5.0  # seconds that one request may take before it counts as lost
    patience: float = 15.0  # seconds that an operation keeps trying before it fails

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    def __repr__(self) -> str:
        """Without the password and the key, so that it may be logged."""
        return f"EtcdConfig({self.scheme}://{','.join(self.endpoints)}{self.root})"

    @classmethod
    def from_url(cls, url: str, read: Callable[[str], bytes] = lambda path: Path(path).read_bytes()) -> "EtcdConfig":
        """The configuration that a URL describes; files it names are read now. Raises StoreError on a bad one."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise StoreError(f"etcd URL {_shown(url)}: it must begin with http:// or https://")
        login, _, hosts = parts.netloc.rpartition("@")
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
    """A host with its port, the default one if it names none. IPv6 addresses are in brackets."""
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
    """The URL without its login."""
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
