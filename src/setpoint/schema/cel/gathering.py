"""Macros that gather a list or a map: one step of each, adding in place.

The language defines them by adding to a copy, which would take quadratic time.
"""

from typing import Any

from setpoint.schema.cel.cost_runtime import LIST_COST
from setpoint.schema.cel.state import Run, State
from setpoint.schema.cel.values import Mapping, MapValue, no_such_overload


class Gathering:
    """One step of a macro that gathers: the predicate if there is one, then the parts of what is added."""

    def __init__(self, predicate: Run | None, parts: list[Run]) -> None:
        self.predicate = predicate
        self.parts = parts

    def start(self) -> Any:
        raise NotImplementedError

    def add(self, state: State, gathered: Any) -> None:
        raise NotImplementedError

    def step(self, state: State, gathered: Any) -> None:
        if self.predicate is not None:
            chosen = self.predicate(state)
            if chosen is False:
                state.charge(1)
                return
            if chosen is not True:
                raise no_such_overload()
        self.add(state, gathered)


class ListGathering(Gathering):
    def start(self) -> list[Any]:
        return []

    def add(self, state: State, gathered: list[Any]) -> None:
        value = self.parts[0](state)
        state.charge(LIST_COST + 2)
        gathered.append(value)


class MapGathering(Gathering):
    def start(self) -> MapValue:
        return MapValue()

    def add(self, state: State, gathered: MapValue) -> None:
        values = [part(state) for part in self.parts]
        state.charge(2)
        if len(values) == 2:
            gathered.insert(values[0], values[1])
            return
        more = values[0]
        if not isinstance(more, Mapping):
            raise no_such_overload()
        for key in more.keys():  # noqa: SIM118
            gathered.insert(key, more.find(key))
