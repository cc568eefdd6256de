"""Where an API server is, and what it takes to connect to it."""

import ssl
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class EndpointError(ValueError):
    """An address that cannot be used; says why."""


class Proxy(NamedTuple):
    """A proxy that tunnels to the server by CONNECT."""

    host: str
    port: int
    tls: bool = False
    authorization: str = ""


class Endpoint(NamedTuple):
    """One API server. `prefix` is what its paths begin with, for servers behind a path of another."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    # The name in the server's certificate, where it is not the host.
    server_name: str = ""
    prefix: str = ""
    proxy: Proxy | None = None
    # A unix socket instead of host and port.
    unix: str = ""

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.tls is not None else 80
        return host if self.port == usual else f"{host}:{self.port}"

    def __str__(self) -> str:
        if self.unix:
            return f"unix:{self.unix}"
        return f"{'https' if self.tls is not None else 'http'}://{self.authority}{self.prefix}"


def endpoint(
    url: str, *, tls: ssl.SSLContext | None = None, server_name: str = "", proxy: str = "", unix: str = ""
) -> Endpoint:
    """The endpoint that a URL means. `tls` is for https; without one the system's roots judge the server."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError(f"{url!r} is no address of a server: it should read https://HOST:PORT")
    context = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
    port = parts.port or (443 if context is not None else 80)
    return Endpoint(
        parts.hostname, port, context, server_name, parts.path.rstrip("/"), _proxy(proxy) if proxy else None, unix
    )


def _proxy(url: str) -> Proxy:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EndpointError(f"{url!r} is no proxy that can be used: it should read http://HOST:PORT")
    authorization = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + b64encode(pair.encode()).decode()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return Proxy(parts.hostname, port, parts.scheme == "https", authorization)
