"""Which of several backends a new connection goes to. Pure but for the turn that is remembered.

Only those that are well are chosen among; where none is, all are, for a probe may be wrong and nobody is served by
refusing. One that could not be reached is passed over for a moment.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from setpoint.objects.ids import Ids


class Backend(NamedTuple):
    """Where something answers. Backends of the same name are the same one, wherever it is now."""

    address: str
    port: int
    name: str
    healthy: bool = True


class Balancing(StrEnum):
    """How backends are chosen; the words of `Service.spec.balancing`."""

    ROUND_ROBIN = "RoundRobin"
    LEAST_CONNECTIONS = "LeastConnections"
    RANDOM = "Random"
    CLIENT_IP = "ClientIP"


class Balancer:
    """Chooses among the backends of one service."""

    def __init__(self, balancing: Balancing, ids: Ids) -> None:
        self.balancing = balancing
        self.backends: Sequence[Backend] = ()
        self._ids = ids
        self._turn = 0

    def choose(self, client: str, active: Mapping[str, int], passed_over: Iterable[str] = ()) -> Backend | None:
        """The backend for a client's next connection; None where there is none at all. `active` are the connections
        that each has now, by name."""
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
                # Among equals it goes round, or the first would have all that are short.
                self._turn += 1
                turn, size = self._turn, len(candidates)
                order = [candidates[(turn + index) % size] for index in range(size)]
                return min(order, key=lambda each: active.get(each.name, 0))
            case Balancing.RANDOM:
                return candidates[int(self._ids.random() * len(candidates))]
            case Balancing.CLIENT_IP:
                # Each client ranks all backends: when one comes or goes, only its own clients move.
                return max(candidates, key=lambda each: _rank(client, each.name))
            case _:
                self._turn += 1
                return candidates[(self._turn - 1) % len(candidates)]


def _rank(client: str, name: str) -> bytes:
    return hashlib.blake2b(f"{client}\0{name}".encode(), digest_size=8).digest()
