"""A state: a function, and the condition that reports its result. A `def` function runs in a thread."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, Union

from setpoint.controller.context import Context
from setpoint.controller.sync_context import SyncContext, is_blocking
from setpoint.flow.fsm.outputs import Outputs
from setpoint.flow.fsm.results import Done, Fail, Wait, check_reason

K = TypeVar("K")
# The return value of a state: the next state, or the end of the walk.
Next: TypeAlias = Union["State", Done, Wait, Fail, "Note", type[Done]]
# Called with the context, a copy of the object with a mutable status, and the collector of outputs.
AsyncFunction: TypeAlias = Callable[[Context[K], K, Outputs], Awaitable[Next]]
BlockingFunction: TypeAlias = Callable[[SyncContext[K], K, Outputs], Next]
Function: TypeAlias = AsyncFunction[K] | BlockingFunction[K]


@dataclass(eq=False, frozen=True, kw_only=True)
class State:
    """One state, created by `fsm.state`.

    @fsm.state("BucketProvisioned", timeout=30, deadline=600)
    async def provisioned(ctx: Context[Bucket], bucket: Bucket, out: Outputs) -> Next:
        return Done()
    """

    # The type of its condition.
    condition: str
    function: Function[Any]
    # Reason and message of the condition when the state is passed.
    reason: str = "Done"
    message: str = ""
    # The timeout of one call in seconds; None: that of the reconcile.
    timeout: float | None = None
    # The seconds after which a wait in this state is reported as `DeadlineExceeded`. The wait continues.
    deadline: float | None = None
    # The transitions that the code does not show: states, or the names of their conditions.
    then: "Sequence[State | str] | None" = None
    # True for a state of terminating objects.
    finalizes: bool = False

    @property
    def name(self) -> str:
        """The name of its function, for display."""
        return getattr(self.function, "__name__", self.condition)

    @cached_property
    def is_blocking(self) -> bool:
        """True for a `def` function, which runs in a thread."""
        return is_blocking(self.function)

    def __repr__(self) -> str:
        return f"<state {self.condition}>"


@dataclass(frozen=True, slots=True)
class Note:
    """Continues with the next state or the end, but sets the condition of this state, and Ready, to False.

    In a finalizer state, this keeps the object.

        return Note(provisioned, "QuotaLow", "less than 10 % of the quota is left")
    """

    then: State | Done | type[Done]
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        check_reason(self.reason)
