"""The explanation of an object: its state, its dependencies, the causes, and hints."""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from setpoint.objects.tree import Object

Verdict: TypeAlias = Literal["ready", "progressing", "failed", "gone"]


class ExplanationStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change. `caused` describes its effect: the reconcile, and its write."""

    time: datetime
    what: str
    who: str
    object: str
    revision: int = 0
    depth: int = 0
    caused: str = ""


class Explanation(msgspec.Struct, frozen=True):
    """The explanation of an object's state."""

    object: str
    verdict: Verdict
    # The state and the reason, in one line.
    headline: str
    since: datetime | None = None
    # Details, the most important first: dependencies, failing probes, restarts.
    details: tuple[str, ...] = ()
    # The causes, the newest first.
    steps: tuple[ExplanationStep, ...] = ()
    # The last lines of output.
    output: tuple[str, ...] = ()
    # Hints about the cause and the solution.
    hints: tuple[str, ...] = ()

    def to_json(self) -> Object:
        found: Object = msgspec.to_builtins(self)
        return found
