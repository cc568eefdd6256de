"""What a proxy counts."""

from dataclasses import dataclass, field


@dataclass
class Counters:
    """Connections, or what stands for them with UDP, and bytes; `parked` wait for a backend right now."""

    connections: int = 0
    active: int = 0
    failed: int = 0
    parked: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    # The connections that each backend has now, by its name.
    by_backend: dict[str, int] = field(default_factory=dict)

    def opened(self, name: str) -> None:
        """A connection goes to a backend."""
        self.by_backend[name] = self.by_backend.get(name, 0) + 1

    def closed(self, name: str) -> None:
        """One of them has ended."""
        left = self.by_backend.get(name, 0) - 1
        if left > 0:
            self.by_backend[name] = left
        else:
            self.by_backend.pop(name, None)
