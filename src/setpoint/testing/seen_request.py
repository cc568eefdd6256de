"""A request as recorded by `Faults`."""

from typing import NamedTuple

from setpoint.client.transport import Call

READS = frozenset(("get", "list", "watch"))
WRITES = frozenset(("create", "update", "patch", "apply", "delete", "deletecollection"))
# Resources outside the controller's actual work: the number of writes depends on timing.
_ASIDE = frozenset(("events", "leases"))


class Seen(NamedTuple):
    """A request as sent.

    assert [str(seen) for seen in world.faults.writes] == ["create configmaps default/a"]
    """

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
        """True for a write that is part of the work: not of events or leases."""
        return self.is_write and self.resource not in _ASIDE

    def __str__(self) -> str:
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{self.verb} {self.resource}{below} {self.namespace}/{self.name}".rstrip("/")
