"""Counts for loops in several turns of the event loop."""

from collections.abc import Callable
from typing import Any

import pytest

from setpoint.objects.clock import ManualClock


class TurnClock(ManualClock):
    """A clock that is also an object with a clock, as the context of a reconcile."""

    @property
    def clock(self) -> "TurnClock":
        return self


class Calls:
    """Counts the calls of a function of a class or module, while the function does its work."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.number = 0
        called: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            self.number += 1
            return called(*arguments, **options)

        patch.setattr(owner, name, counted)

    def __call__(self) -> int:
        return self.number
