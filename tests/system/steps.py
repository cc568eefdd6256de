"""Runs the steps of the garbage collector's graph at once."""

from typing import TypeVar

from setpoint.system.ownership_graph import Steps

T = TypeVar("T")


def finished(steps: Steps[T]) -> T:
    """Runs all steps, and returns their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
