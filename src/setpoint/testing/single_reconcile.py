"""One reconcile, alone: what it wrote, what it reported, when it wants to come again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from setpoint.controller.request import Trigger
from setpoint.controller.run_record import Run, Write
from setpoint.flow.plan import Plan
from setpoint.objects.tree import Object
from setpoint.testing.recorder import Told
from setpoint.testing.seen_request import Seen


@dataclass(frozen=True)
class Ran:
    """What came of one reconcile."""

    run: Run
    # The object afterwards, in the form that the controller has of it; None where it is gone.
    object: Any
    # All requests to the server, in order; what came from the cache is not among them.
    requests: Sequence[Seen]
    events: Sequence[Told]
    # The conditions of the object afterwards, by type.
    conditions: dict[str, Object]
    # The revision that the server was at before it.
    before: int

    @property
    def writes(self) -> list[Write]:
        """What was written, without what was left out because it would have changed nothing."""
        return [write for write in self.run.writes if not write.skipped]

    @property
    def changes(self) -> list[Write]:
        """The writes that changed something: an apply that finds all as it should be does not."""
        return [write for write in self.writes if int(write.resource_version or self.before + 1) > self.before]

    @property
    def skipped(self) -> list[Write]:
        """What would have changed nothing, and was not sent."""
        return [write for write in self.run.writes if write.skipped]

    @property
    def reads(self) -> list[Seen]:
        """What was read from the server, and not from the cache."""
        return [seen for seen in self.requests if not seen.is_write]

    @property
    def plans(self) -> list[Plan]:
        """The plans of apply sets that were carried out."""
        return [note for note in self.run.notes if isinstance(note, Plan)]

    @property
    def result(self) -> str:
        """How it ended: `success`, `requeue_after`, `requeue`, `conflict`, `terminal`, `error`, `timeout`."""
        return self.run.result

    @property
    def error(self) -> BaseException | None:
        return self.run.error

    @property
    def requeue_after(self) -> float | None:
        """After how many seconds it wants to come again; None: when something changes, or, after a failure, with
        backoff."""
        return self.run.requeue_after

    @property
    def why(self) -> tuple[Trigger, ...]:
        return self.run.why

    def raise_error(self) -> "Ran":
        """The same; raises what it ended with, if it did."""
        if self.run.error is not None:
            raise self.run.error
        return self
