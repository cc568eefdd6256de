"""What a part of the server tells `/metrics` about itself."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


class Histogram:
    """How many took how long."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        # As many as fit into each bucket but not into the one before; the last is for the rest.
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.buckets)


class Family(NamedTuple):
    """One measurement by its labels: a counter, a gauge or a histogram."""

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float | Histogram]]


class Measured(Protocol):
    """Who has something to tell."""

    def families(self) -> Iterable[Family]: ...
