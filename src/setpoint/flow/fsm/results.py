"""The return values of a state other than the next state. `Wait` and `Fail` may also be raised at any depth."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Done:
    """Completes the walk successfully.

    With `requeue_after`, the object is reconciled again after some seconds; in a finalizer state, the object stays
    until then.

        return Done(requeue_after=600)
    """

    requeue_after: float | None = None

    def __post_init__(self) -> None:
        _check_seconds("requeue_after", self.requeue_after)


@dataclass(unsafe_hash=True)
class Wait(Exception):  # noqa: N818 - an answer, no error
    """Ends the walk, which starts again after some seconds (with backoff if not given) or on a change.

    The outputs of the state are discarded, unless `keep_outputs` is set.

        return Wait(10, reason="Pending", message="the bucket is being created")
    """

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
    """Ends the walk with a failure, which is retried with backoff or, if `terminal`, on the next change.

    return Fail("InvalidRegion", f"unknown region {bucket.spec.region}", terminal=True)
    """

    reason: str = "Failed"
    message: str = ""
    terminal: bool = False

    def __post_init__(self) -> None:
        check_reason(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


class Failed(Exception):  # noqa: N818 - named after the outcome
    """The exception of a reconcile in which a state returned `Fail`."""


def _check_seconds(field: str, seconds: float | None) -> None:
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"{field} must not be negative: {seconds}")


def check_reason(reason: str) -> None:
    """Raises ValueError for an empty reason."""
    if not reason:
        raise ValueError("reason must be a word in CamelCase, e.g. KeyPending")
