"""Parses the short forms of ports: `8080`, `8080:80/udp`, `127.0.0.1:9000-9002:9000-9002`, `[::1]:80:80`."""

import ipaddress
from typing import Any

from setpoint.app.compose.mount_spec import split

_PROTOCOLS = ("tcp", "udp", "sctp")
_MAX_PORT = 65535
_SUFFIXES = tuple(f"/{protocol}" for protocol in _PROTOCOLS)


def ports(spec: str) -> list[dict[str, Any]]:
    """Returns the long forms of the ports. Raises ValueError."""
    parts = spec.split(":")
    container, host = parts[-1], parts[-2] if len(parts) > 1 else ""
    address = _address(":".join(parts[:-2]), spec)
    number, _, protocol = container.partition("/")
    protocol = (protocol.partition("/")[0] or "tcp").lower()
    if not number:
        raise ValueError(f"the port {spec!r} has no port of the container; write HOST:CONTAINER")
    if protocol not in _PROTOCOLS:
        raise ValueError(f"the protocol of the port {spec!r} is not allowed; allowed are {', '.join(_PROTOCOLS)}")
    first, last = _range(number, spec)
    if not first:
        raise ValueError(f"the port {spec!r} of the container is 0; write a number from 1")
    host_first, host_last = _range(host, spec) if host else (0, 0)
    if host and last - first != host_last - host_first and first != last:
        raise ValueError(f"the ranges of the port {spec!r} differ in size; use ranges of the same size")
    made = []
    for offset in range(last - first + 1):
        published = str(host_first + offset) if host else ""
        if host and first == last and host_first != host_last:
            published = f"{published}-{host_last}"
        port: dict[str, Any] = {"mode": "ingress", "target": first + offset, "protocol": protocol}
        if address:
            port["host_ip"] = address
        if published:
            port["published"] = published
        made.append(port)
    # Compose sorts the ports of a range by their text.
    return sorted(made, key=lambda port: f"{port['target']}/{port['protocol']}")


def referring_port(spec: str) -> dict[str, Any]:
    """Returns the long form of one port with references to variables: texts take the place of numbers."""
    parts = split(spec)
    target, _, protocol = parts[-1].rpartition("/") if parts[-1].endswith(_SUFFIXES) else (parts[-1], "", "tcp")
    port: dict[str, Any] = {"mode": "ingress", "target": int(target) if target.isdigit() else target}
    port["protocol"] = protocol
    address = ":".join(parts[:-2])
    if address:
        port["host_ip"] = address
    if len(parts) > 1 and parts[-2]:
        port["published"] = parts[-2]
    return port


def is_address(text: str) -> bool:
    """Returns True if the text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _address(text: str, spec: str) -> str:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if bare and (not is_address(bare) or (":" in bare and bare == text)):
        raise ValueError(f"the address of the port {spec!r} is not valid; write an IP address, IPv6 in brackets")
    return bare


def _range(text: str, spec: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    last = last.partition("-")[0] if dash else first
    numbers = [int(each) if each.isascii() and each.isdigit() else _MAX_PORT + 1 for each in (first, last)]
    if max(numbers) > _MAX_PORT or numbers[0] > numbers[1]:
        raise ValueError(f"the port {spec!r} is not valid; write numbers up to {_MAX_PORT}, such as 8080:80")
    return numbers[0], numbers[1]
