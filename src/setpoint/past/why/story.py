"""The answer to why: what an object does, what it waits for, how it came to that, and what one may do."""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from setpoint.objects.tree import Object

Verdict: TypeAlias = Literal["ready", "progressing", "failed", "gone"]


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened. `caused` says what it led to: the reconcile, and what that did."""

    time: datetime
    what: str
    who: str
    object: str
    revision: int = 0
    depth: int = 0
    caused: str = ""


class Story(msgspec.Struct, frozen=True):
    """Why an object is as it is."""

    object: str
    verdict: Verdict
    # What it is, and why, in a line.
    headline: str
    since: datetime | None = None
    # What more there is to know, the most important first: what it waits for, which probe fails, how often it ended.
    details: tuple[str, ...] = ()
    # How it came to that, the newest first.
    steps: tuple[Step, ...] = ()
    # The last lines of its output.
    output: tuple[str, ...] = ()
    # What may be the matter, and what to do.
    hints: tuple[str, ...] = ()

    def to_json(self) -> Object:
        found: Object = msgspec.to_builtins(self)
        return found
