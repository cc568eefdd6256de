"""What a state answers, beside the next state. `Wait` and `Fail` may be raised as well, from wherever that is known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """All is as it should be: the walk is complete. With `requeue_after`, it is looked at again after so many seconds;
    in a finalizer state, that keeps the object until then."""

    requeue_after: float | None = None

    def __post_init__(self) -> None:
        _check_seconds("requeue_after", self.requeue_after)


@dataclass(unsafe_hash=True)
class Wait(Exception):  # noqa: N818 - an answer, no error
    """Not yet. The walk ends here, and begins anew after so many seconds, or with backoff where none are given; and
    whenever something changes. What the state has put out is forgotten, unless it says `keep_outputs`."""

    after: float | None = None
    reason: str = "Waiting"
    message: str = ""
    keep_outputs: bool = False

    def __post_init__(self) -> None:
        _check_seconds("after", self.after)
        check_reason(self.reason)

    def __str__(self) -> str:
        return self.message or self.reason


@dataclass(unsafe_hash=True)
class Fail(Exception):  # noqa: N818 - an answer, no error
    """It went wrong. It is tried again with backoff, or, where that is `terminal`, when something changes."""

    reason: str = "Failed"
    message: str = ""
    terminal: bool = False

    def __post_init__(self) -> None:
        check_reason(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


class Failed(Exception):  # noqa: N818 - what happened to a state
    """A state answered `Fail`: what the reconcile ends with."""


def _check_seconds(field: str, seconds: float | None) -> None:
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"{field} is {seconds}: it should be seconds, not below 0")


def check_reason(reason: str) -> None:
    """Refuses an empty reason."""
    if not reason:
        raise ValueError("a reason is a word in CamelCase, such as KeyPending, and not empty")
