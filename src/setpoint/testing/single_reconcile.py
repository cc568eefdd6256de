"""A single reconcile: its writes, its report, and its requeue."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from setpoint.controller.request import Trigger
from setpoint.controller.run_record import ReconcileRecord, Write
from setpoint.flow.plan import Plan
from setpoint.objects.tree import Object
from setpoint.testing.recorder import Told
from setpoint.testing.seen_request import Seen


class Failure(Protocol):
    """The failure of a reconcile, which fails the test unless the test looks at the failure."""

    def look(self) -> None: ...


@dataclass(frozen=True)
class Ran:
    """The result of one reconcile.

    ran = await world.run_once(widgets, widget)
    assert [write.verb for write in ran.writes] == ["apply"]
    assert ran.conditions["Ready"]["status"] == "True"
    """

    record: ReconcileRecord
    # The object after the reconcile, in the controller's type; None if deleted.
    object: Any
    # All requests to the server in order, without reads from the cache.
    requests: Sequence[Seen]
    events: Sequence[Told]
    # The conditions of the object after the reconcile, by type.
    conditions: dict[str, Object]
    # The revision of the server before the reconcile.
    before: int
    failure: Failure

    @property
    def run(self) -> ReconcileRecord:
        """The record of the reconcile."""
        self.failure.look()
        return self.record

    @property
    def writes(self) -> list[Write]:
        """The writes that were sent, without skipped ones."""
        return [write for write in self.record.writes if not write.skipped]

    @property
    def changes(self) -> list[Write]:
        """The writes with an effect: an apply without a difference has none."""
        return [write for write in self.writes if int(write.resource_version or self.before + 1) > self.before]

    @property
    def skipped(self) -> list[Write]:
        """The writes that were not sent, because they would have had no effect."""
        return [write for write in self.record.writes if write.skipped]

    @property
    def reads(self) -> list[Seen]:
        """The reads from the server, without those from the cache."""
        return [seen for seen in self.requests if not seen.is_write]

    @property
    def plans(self) -> list[Plan]:
        """The executed plans of apply sets."""
        return [note for note in self.record.notes if isinstance(note, Plan)]

    @property
    def result(self) -> str:
        """The result: `success`, `requeue_after`, `requeue`, `conflict`, `terminal`, `error`, `timeout`."""
        return self.run.result

    @property
    def error(self) -> BaseException | None:
        return self.run.error

    @property
    def requeue_after(self) -> float | None:
        """The seconds until the next reconcile; None: on a change or, after a failure, with backoff."""
        return self.record.requeue_after

    @property
    def why(self) -> tuple[Trigger, ...]:
        return self.record.why

    def raise_error(self) -> "Ran":
        """Returns itself, or raises the error of the reconcile."""
        error = self.run.error
        if error is not None:
            raise error
        return self
