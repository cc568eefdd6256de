"""What came of applying a set."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from setpoint.client.kinds import Kind, kind_of
from setpoint.flow.inventory import Identity
from setpoint.flow.plan import Plan, Step
from setpoint.objects.errors import Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object


class Result(NamedTuple):
    """What was done. A set that could not be applied raises instead."""

    plan: Plan
    # Every wanted object that is there, as the server has it; what came from a cache cannot be changed.
    objects: Mapping[Identity, Object]
    # What was written, and what was deleted.
    written: Sequence[Identity] = ()
    pruned: Sequence[Identity] = ()
    # What has to go before it can be made anew: the next run does.
    waiting: Sequence[Step] = ()
    # After how many seconds there is something to prune.
    again_after: float | None = None

    @property
    def is_complete(self) -> bool:
        """Whether everything wanted is in place."""
        return not self.waiting

    def get(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """A copy of an object of the set; None where it is not there."""
        ref = kind_of(kind)
        found = self.objects.get(Identity(ref.gvk.group, ref.gvk.kind, namespace, name))
        return None if found is None else ref.read(thaw(found))


class Refused(Exception):  # noqa: N818 - it says what happened
    """Objects that the set must not write, because somebody else has them."""


class PruneWithheld(Exception):  # noqa: N818 - it says what happened
    """Everything wanted is in place, and more would have been pruned than may be. `result` is what was done."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.plan.withheld)
        self.result = result


class PlanOutdated(Exception):  # noqa: N818 - it says what happened
    """The world is not any more as it was when the plan was made; nothing was done."""


class ApplyFailed(Exception):  # noqa: N818 - it says what happened
    """Several objects could not be written; the others were. Nothing was pruned."""

    def __init__(self, failures: Mapping[Identity, Exception]) -> None:
        told = "; ".join(f"{identity}: {error}" for identity, error in failures.items())
        super().__init__(f"{len(failures)} objects of the set could not be written: {told}")
        self.failures = failures


def failure_of(failures: Mapping[Identity, Exception]) -> Exception:
    """What to raise for failures: the one there is; where all are conflicts, a conflict, which is no fault."""
    errors = list(failures.values())
    conflicts = [error for error in errors if isinstance(error, Conflict)]
    return errors[0] if len(errors) == 1 else conflicts[0] if len(conflicts) == len(errors) else ApplyFailed(failures)
