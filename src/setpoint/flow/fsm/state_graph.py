"""The graph of states, found by inspecting their code: a state leads to those that its function refers to.

No function is called for this. Transitions that the code does not show are declared with `then=[...]`, which replaces
the inspection.
"""

import dis
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Literal, TypeAlias

from setpoint.flow.fsm.results import Done, Fail, Wait
from setpoint.flow.fsm.state import State

End: TypeAlias = Literal["done", "wait", "fail"]
_ENDS: Mapping[Any, End] = {Done: "done", Wait: "wait", Fail: "fail"}
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


class GraphError(ValueError):
    """States that do not form a valid machine; the message says how to fix this."""


@dataclass(frozen=True)
class StateGraph:
    """The transitions between states, and the ways in which each can end a walk."""

    states: Sequence[State]
    edges: Mapping[State, tuple[State, ...]]
    ends: Mapping[State, frozenset[End]]

    def check(self) -> None:
        """Raises GraphError for cycles and unreachable states. Walks begin at the first state."""
        if not self.states:
            raise GraphError("there are no states: declare them with @fsm.state(condition)")
        reached: set[State] = set()
        self._follow(self.states[0], (), reached)
        for state in self.states:
            if state not in reached:
                raise GraphError(
                    f"the state {state.condition} is unreachable: return it from another state, or declare then=[...]"
                )

    def _follow(self, state: State, edge: tuple[State, ...], reached: set[State]) -> None:
        if state in edge:
            circle = " -> ".join(each.condition for each in (*edge[edge.index(state) :], state))
            raise GraphError(f"states form a cycle: {circle}; to repeat, return Wait or Done(requeue_after=...)")
        if state in reached:
            return
        for following in self.edges[state]:
            self._follow(following, (*edge, state), reached)
        reached.add(state)

    def text(self, statuses: Mapping[str, str] | None = None) -> str:
        """Returns the graph as text: one line per state, with its transitions."""
        return "\n".join(self._line(state, statuses or {}) for state in self.states)

    def _line(self, state: State, statuses: Mapping[str, str]) -> str:
        marks = ", ".join(sorted(self.ends[state] - {"done"}))
        follows = [each.condition for each in self.edges[state]]
        if "done" in self.ends[state]:
            follows.append("gone" if state.finalizes else "done")
        status = f" = {statuses[state.condition]}" if state.condition in statuses else ""
        return f"{state.condition}{status} ({state.name}) -> {' | '.join(follows)}{f'  [{marks}]' if marks else ''}"


def graph_of(states: Sequence[State]) -> StateGraph:
    """Returns the graph of states of one machine. Raises GraphError for transitions to other states."""
    named = {state.condition: state for state in states}
    edges, ends = {}, {}
    for state in states:
        loaded = list(_loaded(state.function))
        found = [value for value in loaded if isinstance(value, State)]
        if state.then is not None:
            found = [_named(named, state, each) for each in state.then]
        for each in found:
            if each not in named.values():
                which = "is for objects that are being deleted" if each.finalizes else "is for existing objects"
                why = which if each.finalizes != state.finalizes else "belongs to another machine"
                raise GraphError(f"{state.condition} leads to {each.condition}, which {why}")
        edges[state] = tuple(dict.fromkeys(found))
        ends[state] = frozenset(
            _ENDS[value] for value in loaded if isinstance(value, type) and value in (Done, Wait, Fail)
        )
        if not edges[state] and not ends[state]:
            ends[state] = frozenset({"done"})
    return StateGraph(states, edges, ends)


def _named(named: Mapping[str, State], state: State, target: State | str) -> State:
    if isinstance(target, State):
        return target
    if target not in named:
        raise GraphError(f"{state.condition} leads to {target!r}, which is not a state of this machine")
    return named[target]


def _loaded(function: Callable[..., Any]) -> Iterator[Any]:
    """Yields the values that the code of a function, and of functions of the same module that it calls, refers to."""
    todo: list[Any] = [function]
    seen: set[int] = set()
    while todo:
        found = todo.pop(0)
        found = found.__func__ if isinstance(found, MethodType) else getattr(found, "__wrapped__", found)
        if not isinstance(found, FunctionType) or id(found) in seen:
            continue
        seen.add(id(found))
        cells = dict(zip(found.__code__.co_freevars, found.__closure__ or (), strict=False))
        for value in _named_in(found.__code__, found.__globals__, cells):
            yield value
            if isinstance(value, FunctionType) and value.__module__ == found.__module__:
                todo.append(value)


def _named_in(code: CodeType, variables: Mapping[str, Any], cells: Mapping[str, Any]) -> Iterator[Any]:
    last: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            last = variables.get(step.argval)
        elif step.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and step.argval in cells:
            last = _content(cells[step.argval])
        elif step.opname in _ATTRIBUTES and isinstance(last, ModuleType):
            last = getattr(last, step.argval, None)
        else:
            last = None
        if last is not None and not isinstance(last, ModuleType):
            yield last
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named_in(inner, variables, cells)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not set yet
