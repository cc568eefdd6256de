"""Assigns ports to owners: bound until used, and the same again after a restart.

An automatic port is from a range below the system's ephemeral ports, starting at an offset derived from the owner's
name: the same owner gets the same port even without records. Until a workload serves the port, a socket of ours stays
bound, which prevents others from using the port.
"""

import errno
import hashlib
import socket
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import NamedTuple

from setpoint.workload.proxy.holder import holder_of

TCP, UDP = "TCP", "UDP"
FIRST, LAST = 20000, 32767
_ATTEMPTS = 512
_BACKLOG = 1024


class PortBusyError(OSError):
    """A requested port is not available; the message names the process that uses the port, and the remedy."""


class Reservation(NamedTuple):
    """A reserved port: the bound sockets, one for each address."""

    port: int
    sockets: Sequence[socket.socket]

    def release(self) -> None:
        """Releases the port, for a process to use."""
        for each in self.sockets:
            each.close()


class Ports:
    """Assigns ports. `recorded` has the ports of earlier sessions by owner, and is kept up to date."""

    def __init__(
        self,
        recorded: MutableMapping[str, int] | None = None,
        *,
        first: int = FIRST,
        last: int = LAST,
        holder: Callable[[int, str], str] = holder_of,
    ) -> None:
        self._recorded = {} if recorded is None else recorded
        self._first, self._size = first, last - first + 1
        self._holder = holder

    def reserve(self, owner: str, protocol: str, addresses: Sequence[str], wanted: int | None = None) -> Reservation:
        """Reserves a port for an owner, the same at all addresses of this machine. Raises PortBusyError, or OSError if
        the first address is not available."""
        if wanted:
            return self._exactly(owner, protocol, addresses, wanted)
        for port in self._candidates(owner):
            try:
                found = Reservation(port, _bound(protocol, addresses, port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                continue
            self._recorded[owner] = port
            return found
        raise PortBusyError(
            errno.EADDRINUSE,
            f"no port from {self._first} to {self._first + self._size - 1} is free: stop a process, or set the port",
        )

    def release(self, owner: str) -> None:
        """Removes the record of a deleted owner."""
        self._recorded.pop(owner, None)

    def _exactly(self, owner: str, protocol: str, addresses: Sequence[str], port: int) -> Reservation:
        try:
            found = Reservation(port, _bound(protocol, addresses, port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise PortBusyError(
                    errno.EACCES, f"port {port} requires root privileges: use a port from 1024 on"
                ) from None
            if error.errno != errno.EADDRINUSE:
                raise
            who = self._holder(port, protocol)
            raise PortBusyError(
                errno.EADDRINUSE,
                f"port {port} is in use{f' by {who}' if who else ''}: stop that process, or use another port",
            ) from None
        self._recorded[owner] = port
        return found

    def _candidates(self, owner: str) -> Iterable[int]:
        """Yields the previous port of the owner, then those of the range from its offset; ports of other owners come
        last."""
        own = self._recorded.get(owner)
        if own:
            yield own
        taken = {port for other, port in self._recorded.items() if other != owner}
        start = int.from_bytes(hashlib.blake2b(owner.encode(), digest_size=4).digest(), "big") % self._size
        ports = [self._first + (start + step) % self._size for step in range(min(self._size, _ATTEMPTS))]
        yield from (port for port in ports if port not in taken)
        yield from (port for port in ports if port in taken)


def _bound(protocol: str, addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Returns a socket for each available address. Raises OSError after closing all of them."""
    bound: list[socket.socket] = []
    try:
        for number, address in enumerate(addresses):
            try:
                bound.append(_bind(protocol, address, port))
            except OSError as error:
                # A machine without IPv6, or without one of the addresses, serves at the others.
                if number == 0 or error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
    except OSError:
        for each in bound:
            each.close()
        raise
    return bound


def _bind(protocol: str, address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_DGRAM if protocol == UDP else socket.SOCK_STREAM)
    try:
        found.setblocking(False)
        if protocol != UDP:
            # Old connections in TIME_WAIT do not block the port; a listener does.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind((address, port))
        if protocol != UDP:
            # A bound socket that does not listen would not prevent others from binding.
            found.listen(_BACKLOG)
    except OSError:
        found.close()
        raise
    return found
