"""Macros that build a list or a map: one step of each, adding in place.

The language defines them by adding to a copy, which would take quadratic time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from setpoint.schema.cel.cost_runtime import LIST_COST
from setpoint.schema.cel.evaluation_state import Run, State
from setpoint.schema.cel.values import Mapping, MapValue, no_such_overload


class Accumulation(NamedTuple):
    """The accumulation of a macro: its start value, its predicate, and its step."""

    start: Callable[[], Any]
    add: Callable[[State, Any], None]
    predicate: Run | None

    def step(self, state: State, gathered: Any) -> None:
        if self.predicate is not None:
            chosen = self.predicate(state)
            if chosen is False:
                state.charge(1)
                return
            if chosen is not True:
                raise no_such_overload()
        self.add(state, gathered)


def accumulate_list(predicate: Run | None, element: Run) -> Accumulation:
    """Returns the accumulation of `map`, `filter` and `transformList`."""

    def add(state: State, gathered: list[Any]) -> None:
        value = element(state)
        state.charge(LIST_COST + 2)
        gathered.append(value)

    return Accumulation(list, add, predicate)


def accumulate_map(predicate: Run | None, parts: list[Run]) -> Accumulation:
    """Returns the accumulation of `transformMap`, which adds a key and a value, and of `transformMapEntry`, which adds
    all entries of a map."""

    def add(state: State, gathered: MapValue) -> None:
        values = [part(state) for part in parts]
        state.charge(2)
        if len(values) == 2:
            gathered.insert(values[0], values[1])
            return
        more = values[0]
        if not isinstance(more, Mapping):
            raise no_such_overload()
        for key in more.keys():  # noqa: SIM118 - a map of CEL does not iterate by itself
            gathered.insert(key, more.find(key))

    return Accumulation(MapValue, add, predicate)
