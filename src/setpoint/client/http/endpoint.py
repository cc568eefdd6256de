"""The address of an API server, and the options for connecting to that address."""

import shlex
import ssl
from base64 import b64encode
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

_PROXY_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


class EndpointError(ValueError):
    """An invalid address. The message says why."""


class Proxy(NamedTuple):
    """A proxy that tunnels to the server, with CONNECT or SOCKS 5."""

    host: str
    port: int
    scheme: Literal["http", "https", "socks5"] = "http"
    user: str = ""
    password: str = ""

    @property
    def authorization(self) -> str:
        """The value of the Proxy-Authorization header."""
        if not self.user:
            return ""
        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode()


class Endpoint(NamedTuple):
    """The address of one API server. `prefix` is prepended to all paths, for servers below a path of another server."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    # The name in the server's certificate, if different from the host.
    server_name: str = ""
    prefix: str = ""
    proxy: Proxy | None = None
    # The path of a unix socket, used instead of host and port.
    unix: str = ""
    # The command with standard streams that carry a connection, used instead of host and port.
    command: tuple[str, ...] = ()

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.tls is not None else 80
        return host if self.port == usual else f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.unix:
            return f"unix:{self.unix}"
        if self.command:
            return f"{self.host} (through `{shlex.join(self.command)}`)"
        return f"{'https' if self.tls is not None else 'http'}://{self.authority}{self.prefix}"


def endpoint(
    url: str, *, tls: ssl.SSLContext | None = None, server_name: str = "", proxy: str = "", unix: str = ""
) -> Endpoint:
    """Returns the endpoint of a URL. `tls` is used for https; by default, the server's certificate is verified with the
    system's root certificates."""
    remedy = f"invalid server address {url!r}: expected https://HOST:PORT"
    parts = urlsplit(url if "://" in url else f"https://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError(remedy)
    try:
        port = parts.port
    except ValueError:
        raise EndpointError(remedy) from None
    context = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
    return Endpoint(
        parts.hostname,
        port or (443 if context is not None else 80),
        context,
        server_name,
        parts.path.rstrip("/"),
        proxy_at(proxy) if proxy else None,
        unix,
    )


def proxy_at(url: str) -> Proxy:
    """Returns the proxy of a URL. Raises EndpointError."""
    remedy = f"invalid proxy {url!r}: expected http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in _PROXY_PORTS or not parts.hostname:
        raise EndpointError(remedy)
    try:
        port = parts.port or _PROXY_PORTS[parts.scheme]
    except ValueError:
        raise EndpointError(remedy) from None
    scheme: Literal["http", "https", "socks5"] = "socks5" if parts.scheme.startswith("socks5") else "http"
    if parts.scheme == "https":
        scheme = "https"
    return Proxy(parts.hostname, port, scheme, unquote(parts.username or ""), unquote(parts.password or ""))
