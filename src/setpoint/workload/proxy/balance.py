"""Selects the backend of a new connection. No I/O.

Healthy backends are preferred; if none is healthy, all are used, because a probe may be wrong and a refusal would not
help. An unreachable backend is skipped for a moment.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from setpoint.objects.ids import Ids


class Backend(NamedTuple):
    """The address of a server. Backends with the same name are the same one, even if the address changes."""

    address: str
    port: int
    name: str
    healthy: bool = True


class Balancing(StrEnum):
    """The values of `Service.spec.balancing`."""

    ROUND_ROBIN = "RoundRobin"
    LEAST_CONNECTIONS = "LeastConnections"
    RANDOM = "Random"
    CLIENT_IP = "ClientIP"


class Balancer:
    """Selects among the backends of one Service."""

    def __init__(self, balancing: Balancing, ids: Ids) -> None:
        self.balancing = balancing
        self.backends: Sequence[Backend] = ()
        self._ids = ids
        self._next = 0

    def choose(self, client: str, active: Mapping[str, int], passed_over: Iterable[str] = ()) -> Backend | None:
        """Returns the backend for a client's next connection; None if there is none. `active` has the number of open
        connections of each backend, by name."""
        avoided = {*passed_over}
        candidates = (
            [each for each in self.backends if each.healthy and each.name not in avoided]
            or [each for each in self.backends if each.name not in avoided]
            or self.backends
        )
        if not candidates:
            return None
        match self.balancing:
            case Balancing.LEAST_CONNECTIONS:
                # Rotates among equals, otherwise the first would get all short connections.
                self._next += 1
                turn, size = self._next, len(candidates)
                order = [candidates[(turn + index) % size] for index in range(size)]
                return min(order, key=lambda each: active.get(each.name, 0))
            case Balancing.RANDOM:
                return candidates[int(self._ids.random() * len(candidates))]
            case Balancing.CLIENT_IP:
                # Rendezvous hashing: when a backend is added or removed, only its own clients move.
                return max(candidates, key=lambda each: _rank(client, each.name))
            case _:
                self._next += 1
                return candidates[(self._next - 1) % len(candidates)]


def _rank(client: str, name: str) -> bytes:
    return hashlib.blake2b(f"{client}\0{name}".encode(), digest_size=8).digest()
