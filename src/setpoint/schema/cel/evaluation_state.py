"""The state of one evaluation, which is passed to every step."""

from collections.abc import Callable
from typing import Any

from setpoint.schema.cel.values import CostExceeded


class State:
    """One evaluation: the variables, and the cost so far."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Any], limit: int) -> None:
        self.variables = variables
        self.cost = 0
        self.limit = limit

    def charge(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


Run = Callable[[State], Any]
