"""Ports: which one an owner gets, kept bound until it is used, and the same again after a restart.

A port that nobody asked for comes from a range below the one from which the system takes its own, beginning at a place
that the owner's name decides: so the same owner finds the same port even where nothing was remembered. Until somebody
serves there a socket of ours has it, which is what keeps others off it.
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
    """A port that was asked for cannot be had; says who has it, and what to do."""


class Reservation(NamedTuple):
    """A port that is ours: sockets that are bound to it, one for each address."""

    port: int
    sockets: Sequence[socket.socket]

    def release(self) -> None:
        """Lets it go, for a process to take it."""
        for each in self.sockets:
            each.close()


class Ports:
    """Hands out ports. `remembered` is what earlier sessions had, by owner, and is kept up to date."""

    def __init__(
        self,
        remembered: MutableMapping[str, int] | None = None,
        *,
        first: int = FIRST,
        last: int = LAST,
        holder: Callable[[int, str], str] = holder_of,
    ) -> None:
        self._remembered = {} if remembered is None else remembered
        self._first, self._size = first, last - first + 1
        self._holder = holder

    def reserve(self, owner: str, protocol: str, addresses: Sequence[str], wanted: int | None = None) -> Reservation:
        """A port for an owner, the same at all addresses that this machine has. Raises PortBusyError, and OSError where
        not even the first of the addresses can be had."""
        if wanted:
            return self._exactly(owner, protocol, addresses, wanted)
        for port in self._candidates(owner):
            try:
                found = Reservation(port, _bound(protocol, addresses, port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                continue
            self._remembered[owner] = port
            return found
        raise PortBusyError(
            errno.EADDRINUSE,
            f"no port from {self._first} to {self._first + self._size - 1} is free: "
            "stop something, or say which port to use",
        )

    def forget(self, owner: str) -> None:
        """The owner is gone for good."""
        self._remembered.pop(owner, None)

    def _exactly(self, owner: str, protocol: str, addresses: Sequence[str], port: int) -> Reservation:
        try:
            found = Reservation(port, _bound(protocol, addresses, port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise PortBusyError(errno.EACCES, f"port {port} is for administrators: use one from 1024 on") from None
            if error.errno != errno.EADDRINUSE:
                raise
            who = self._holder(port, protocol)
            raise PortBusyError(
                errno.EADDRINUSE,
                f"port {port} is in use{f' by {who}' if who else ''}: stop that, or use another port",
            ) from None
        self._remembered[owner] = port
        return found

    def _candidates(self, owner: str) -> Iterable[int]:
        """The one it had, then those from its place in the range on; those that others had come last."""
        own = self._remembered.get(owner)
        if own:
            yield own
        taken = {port for other, port in self._remembered.items() if other != owner}
        start = int.from_bytes(hashlib.blake2b(owner.encode(), digest_size=4).digest(), "big") % self._size
        ports = [self._first + (start + step) % self._size for step in range(min(self._size, _ATTEMPTS))]
        yield from (port for port in ports if port not in taken)
        yield from (port for port in ports if port in taken)


def _bound(protocol: str, addresses: Sequence[str], port: int) -> list[socket.socket]:
    """A socket at each address that there is. Raises OSError, with none of them left."""
    bound: list[socket.socket] = []
    try:
        for number, address in enumerate(addresses):
            try:
                bound.append(_bind(protocol, address, port))
            except OSError as error:
                # A machine without IPv6, or with a name for an address it does not have, serves at the others.
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
            # Old connections in their last minutes do not keep us out; a listener does.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind((address, port))
        if protocol != UDP:
            # What is only bound could be bound by another as well.
            found.listen(_BACKLOG)
    except OSError:
        found.close()
        raise
    return found
