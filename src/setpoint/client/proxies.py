"""The proxy settings of the environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by the rules of Go's net/http."""

from collections.abc import Mapping
from contextlib import suppress
from ipaddress import ip_address, ip_network


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> str:
    """Returns the URL of the proxy for a server, or an empty string if none is set or NO_PROXY excludes the server."""
    name = "https_proxy" if scheme == "https" else "http_proxy"
    proxy = environ.get(name.upper()) or environ.get(name) or ""
    without = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    return "" if not proxy or _bypasses_proxy(host.lower(), port, without) else proxy


def _bypasses_proxy(host: str, port: int, listed: str) -> bool:
    address = None
    with suppress(ValueError):
        address = ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for item in (each.strip().lower() for each in listed.split(",")):
        if item == "*":
            return True
        if not item:
            continue
        if address is not None:
            with suppress(ValueError):
                if address in ip_network(item.strip("[]"), strict=False):
                    return True
        name, colon, wanted = item.rpartition(":")
        if colon and wanted.isdigit():
            if int(wanted) != port:
                continue
            item = name.strip("[]")
        if _is_of_domain(host, item):
            return True
    return False


def _is_of_domain(host: str, item: str) -> bool:
    if item.startswith("*."):
        item = item[1:]
    # `.example.com` matches subdomains only, `example.com` also the domain itself.
    return host.endswith(item) if item.startswith(".") else host == item or host.endswith(f".{item}")
