"""The counters of a proxy."""

from dataclasses import dataclass, field


@dataclass
class Counters:
    """Connections (flows with UDP) and bytes; `parked` connections wait for a backend."""

    connections: int = 0
    active: int = 0
    failed: int = 0
    parked: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    # The number of open connections of each backend, by name.
    by_backend: dict[str, int] = field(default_factory=dict)

    def opened(self, name: str) -> None:
        """Counts a connection to a backend."""
        self.by_backend[name] = self.by_backend.get(name, 0) + 1

    def closed(self, name: str) -> None:
        """Counts the end of a connection to a backend."""
        left = self.by_backend.get(name, 0) - 1
        if left > 0:
            self.by_backend[name] = left
        else:
            self.by_backend.pop(name, None)
