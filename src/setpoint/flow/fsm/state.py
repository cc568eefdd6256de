"""A state: a coroutine, and the condition that tells how it went."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from setpoint.controller.context import Context
from setpoint.flow.fsm.outputs import Outputs
from setpoint.flow.fsm.results import Done, Fail, Wait, check_reason

# What a state answers: the state that comes next, or how the walk ends.
Next: TypeAlias = Union["State", Done, Wait, Fail, "Note", type[Done]]
# It is given the reconcile, a copy of the object of which it may change the status, and what takes its outputs.
Function: TypeAlias = Callable[[Context, Any, Outputs], Awaitable[Next]]


@dataclass(eq=False, frozen=True, kw_only=True)
class State:
    """One state. `fsm.state` makes them."""

    # The type of its condition.
    condition: str
    function: Function
    # What the condition says when the state is passed.
    reason: str = "Done"
    message: str = ""
    # Seconds that one call may take; None: as long as the reconcile.
    timeout: float | None = None
    # Seconds after which a wait in this state is reported as `DeadlineExceeded`. It still goes on.
    deadline: float | None = None
    # Where it can lead, as far as the code does not show it: states, or the names of their conditions.
    then: "Sequence[State | str] | None" = None
    # It cleans up after an object that is being deleted.
    finalizes: bool = False

    @property
    def name(self) -> str:
        """The name of its function, for people."""
        return getattr(self.function, "__name__", self.condition)

    def __repr__(self) -> str:
        return f"<state {self.condition}>"


@dataclass(frozen=True, slots=True)
class Note:
    """Goes on, to the state that follows or to the end, but says that this one is not as it should be: its condition,
    and with it Ready, is False. In a finalizer state, that keeps the object."""

    then: State | Done | type[Done]
    reason: str
    message: str = ""

    def __post_init__(self) -> None:
        check_reason(self.reason)
