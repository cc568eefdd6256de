"""A request as the faults of a test see it."""

from typing import NamedTuple

from setpoint.client.transport import Call

READS = frozenset(("get", "list", "watch"))
WRITES = frozenset(("create", "update", "patch", "apply", "delete", "deletecollection"))
# What a controller tells beside its work: how much of it there is depends on the moment.
_ASIDE = frozenset(("events", "leases"))


class Seen(NamedTuple):
    """A request, as it was sent."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    subresource: str
    call: Call

    @property
    def is_write(self) -> bool:
        return self.verb in WRITES

    @property
    def counts(self) -> bool:
        """Whether it is a write that is part of the work: events and leases are not."""
        return self.is_write and self.resource not in _ASIDE

    def __str__(self) -> str:
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}{below} {self.namespace}/{self.name}".rstrip("/")
