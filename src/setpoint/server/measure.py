"""What a part of the server tells `/metrics` about itself."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol


class Family(NamedTuple):
    """One measurement by its labels: a counter or a gauge."""

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float]]


class Measured(Protocol):
    """Who has something to tell."""

    def families(self) -> Iterable[Family]: ...
