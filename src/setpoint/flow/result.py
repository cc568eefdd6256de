"""The result of applying a set."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from setpoint.client.kinds import Kind, kind_of
from setpoint.flow.inventory import Identity
from setpoint.flow.plan import Plan, PlanStep
from setpoint.objects.errors import Conflict
from setpoint.objects.frozen import thaw
from setpoint.objects.tree import Object


class Result(NamedTuple):
    """The result of a successful apply. A failed apply raises an exception."""

    plan: Plan
    # The existing wanted objects, as stored by the server; objects from a cache are read-only.
    objects: Mapping[Identity, Object]
    # The written and the deleted objects.
    written: Sequence[Identity] = ()
    pruned: Sequence[Identity] = ()
    # The objects that must be deleted before the next run creates them again.
    waiting: Sequence[PlanStep] = ()
    # The seconds until an object is to be pruned.
    again_after: float | None = None

    @property
    def is_complete(self) -> bool:
        """True if all wanted objects are in place."""
        return not self.waiting

    def get(self, kind: Kind[Any], name: str, namespace: str = "") -> Any:
        """Returns a copy of an object of the set; None if missing."""
        ref = kind_of(kind)
        found = self.objects.get(Identity(ref.gvk.group, ref.gvk.kind, namespace, name))
        return None if found is None else ref.read(thaw(found))


class Refused(Exception):  # noqa: N818 - named after the outcome
    """An object that the set must not write, because another owner manages the object."""


class PruneWithheld(Exception):  # noqa: N818 - named after the outcome
    """All wanted objects are in place, but more would be pruned than permitted. `result` has the completed work."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.plan.withheld)
        self.result = result


class PlanOutdated(Exception):  # noqa: N818 - named after the outcome
    """The state has changed since the plan was made; no object was written."""


class ApplyFailed(Exception):  # noqa: N818 - named after the outcome
    """Several objects could not be written; the others were. No object was pruned."""

    def __init__(self, failures: Mapping[Identity, Exception]) -> None:
        message = "; ".join(f"{identity}: {error}" for identity, error in failures.items())
        super().__init__(f"{len(failures)} objects of the set could not be written: {message}")
        self.failures = failures


def failure_of(failures: Mapping[Identity, Exception]) -> Exception:
    """Returns the exception for failures: a single one as is, a Conflict if all are conflicts, else ApplyFailed."""
    errors = list(failures.values())
    conflicts = [error for error in errors if isinstance(error, Conflict)]
    return errors[0] if len(errors) == 1 else conflicts[0] if len(conflicts) == len(errors) else ApplyFailed(failures)
