"""Checks that a request with the cookie of a session comes from the dashboard's own page.

A browser also sends the cookie with requests that other pages cause. Those lack the header that only scripts of the
same origin can set, or name another origin. Pages that reach the server by a name of their own (DNS rebinding) name
that host, which is none of the server's.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address

from setpoint.objects.errors import Forbidden
from setpoint.server.handshake import offered

# The header of all requests of the page but WebSockets.
PAGE_HEADER = "setpoint-page"
_LOCALHOST = "localhost"


def is_own_host(host: str, names: Collection[str]) -> bool:
    """Returns True if a `Host` header names the server: a loopback name or address, or one of `names`. The name `*`
    stands for every address, but for no host name."""
    name = host_name(host)
    if name == _LOCALHOST or name.endswith(f".{_LOCALHOST}") or name in names:
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or "*" in names


def host_name(host: str) -> str:
    """Returns a `Host` header without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.rpartition(":")
    return (name if name and port.isdigit() else host).lower().removesuffix(".")


def check_host(headers: Mapping[str, str], names: Collection[str]) -> None:
    """Raises Forbidden if a request names another host."""
    host = headers.get("host", "")
    if not is_own_host(host, names):
        raise Forbidden(
            f"the host {host!r} is not a name of this server: open the dashboard at the address that `setpoint "
            "dashboard` prints"
        )


def check_page(headers: Mapping[str, str], origin: str) -> None:
    """Raises Forbidden if a request with a cookie does not come from the page of an origin."""
    sent = headers.get("origin")
    if sent is not None and sent != origin:
        raise Forbidden(f"the origin {sent!r} is not the origin of this login, {origin}")
    if origin.partition("://")[2] != headers.get("host", ""):
        raise Forbidden(f"the login is for {origin}: open the dashboard at that address, or log in again")
    if headers.get(PAGE_HEADER) == "1" or (sent is not None and offered(headers) is not None):
        return
    raise Forbidden("a request with the dashboard's cookie requires the header Setpoint-Page: 1")
