"""Exact evaluation: an expression as closures that count the cost of every step and absorb errors as CEL does.

Exact evaluation defines the meaning of an expression. The generated code (see `codegen`) only takes shortcuts that give
the same value, and leaves all uncertain cases, including every error, to exact evaluation.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from setpoint.schema.cel.accumulation import Accumulation, accumulate_list, accumulate_map
from setpoint.schema.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, Struct
from setpoint.schema.cel.cost_runtime import LIST_COST, MAP_COST, MESSAGE_COST, RESULT_COSTS
from setpoint.schema.cel.dispatch import dispatcher
from setpoint.schema.cel.evaluation_state import Run, State
from setpoint.schema.cel.functions import Functions, Overload
from setpoint.schema.cel.libraries.conversions import type_of_value
from setpoint.schema.cel.messages import Message
from setpoint.schema.cel.values import (
    ABSENT,
    EvaluationError,
    Mapping,
    MapValue,
    Optional,
    no_such_overload,
)

_CONVERSIONS = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])
_PATTERNS = frozenset(("find", "findAll"))
# Functions that control the evaluation of their operands.
_SPECIAL = frozenset(("_&&_", "_||_", "_?_:_", "@not_strictly_false", "_?._", "or", "orValue"))


class ProgramError(Exception):
    """An expression with correct types that can never be evaluated, such as `int('x')`."""


class _Code(NamedTuple):
    """A compiled node: its function, and its value, if already known."""

    run: Run
    value: Any = ABSENT


def compile_exact(tree: Expr, functions: Functions) -> Run:
    """Compiles an expression to a function of a state. Raises `ProgramError`."""
    return _Compiler(functions).compile(tree).run


def _constant(value: Any) -> _Code:
    return _Code(lambda _: value, value)


class _Compiler:
    def __init__(self, functions: Functions) -> None:
        self.functions = functions

    def compile(self, node: Expr) -> _Code:
        if isinstance(node, Literal):
            return _constant(node.value)
        if isinstance(node, Ident):
            return self.ident(node)
        if isinstance(node, Select):
            return self.select(node)
        if isinstance(node, Call):
            return self.call(node) if node.function in _SPECIAL else self.apply(node)
        if isinstance(node, ListExpr):
            return self.list_literal(node)
        if isinstance(node, MapExpr):
            return self.map_literal(node)
        if isinstance(node, Struct):
            return self.message(node)
        assert isinstance(node, Comprehension)
        return self.comprehension(node)

    def ident(self, node: Ident) -> _Code:
        if node.denotes is not None:
            return _constant(node.denotes)
        name = node.name

        def run(state: State) -> Any:
            state.charge(1)
            value = state.variables.get(name, ABSENT)
            if value is ABSENT:
                # For example `oldSelf` in a message, without an old value.
                raise EvaluationError(f"no such attribute(s): {name}")
            if isinstance(value, EvaluationError):
                raise value
            return value

        return _Code(run)

    def select(self, node: Select) -> _Code:
        if not node.field:
            return self.compile(node.operand)
        operand = self.compile(node.operand).run
        field = node.field
        if node.test_only:

            def test(state: State) -> bool:
                value = operand(state)
                if isinstance(value, Optional):
                    value = value.value
                return _find(value, field) is not ABSENT

            return _Code(test)

        def run(state: State) -> Any:
            value = operand(state)
            state.charge(1)
            if isinstance(value, Optional):
                return Optional(_find(value.value, field)) if value.present else value
            found = _find(value, field)
            if found is ABSENT:
                raise EvaluationError(f"no such key: {field}")
            return found

        return _Code(run)

    def call(self, node: Call) -> _Code:
        if node.function == "_&&_":
            return self.logic(node, decisive=False)
        if node.function == "_||_":
            return self.logic(node, decisive=True)
        if node.function == "_?_:_":
            return self.conditional(node)
        if node.function == "@not_strictly_false":
            return self.not_strictly_false(node)
        if node.function == "_?._":
            return self.optional_select(node)
        return self.optional_or(node)

    def logic(self, node: Call, *, decisive: bool) -> _Code:
        """Compiles `&&` and `||`: one `decisive` term determines the result, regardless of errors in other terms."""
        terms = [self.compile(term).run for term in node.args]

        def run(state: State) -> Any:
            error: EvaluationError | None = None
            for term in terms:
                try:
                    value = term(state)
                except EvaluationError as caught:
                    error = error or caught
                    continue
                if value is decisive:
                    return decisive
                if not isinstance(value, bool):
                    error = error or no_such_overload()
            if error is not None:
                raise error
            return not decisive

        return _Code(run)

    def conditional(self, node: Call) -> _Code:
        condition, positive, negative = (self.compile(argument).run for argument in node.args)

        def run(state: State) -> Any:
            chosen = condition(state)
            if chosen is True:
                return positive(state)
            if chosen is False:
                return negative(state)
            raise no_such_overload()

        return _Code(run)

    def not_strictly_false(self, node: Call) -> _Code:
        argument = self.compile(node.args[0]).run

        def run(state: State) -> bool:
            state.charge(1)
            try:
                return argument(state) is not False
            except EvaluationError:
                return True

        return _Code(run)

    def optional_select(self, node: Call) -> _Code:
        operand = self.compile(node.args[0]).run
        name = node.args[1]
        assert isinstance(name, Literal)
        field = str(name.value)

        def run(state: State) -> Optional:
            value = operand(state)
            state.charge(1)
            if isinstance(value, Optional):
                value = value.value
            return Optional(_find(value, field))

        return _Code(run)

    def optional_or(self, node: Call) -> _Code:
        assert node.target is not None
        target, other = self.compile(node.target).run, self.compile(node.args[0]).run
        unwrap = node.function == "orValue"

        def run(state: State) -> Any:
            optional = target(state)
            if not isinstance(optional, Optional):
                raise no_such_overload()
            if optional.present:
                return optional.value if unwrap else optional
            return other(state)

        return _Code(run)

    def apply(self, node: Call) -> _Code:
        codes: list[_Code] = []
        for operand in node.operands:
            codes.append(self.compile(operand))  # noqa: PERF401 - a comprehension would take another frame a level
        overloads = [self.functions.by_id[overload] for overload in node.overloads]
        self.check_program(node, codes)
        if node.function in _CONVERSIONS and len(codes) == 1 and codes[0].value is not ABSENT:
            return self.folded(node, overloads, codes[0].value)
        dispatch = dispatcher(node, overloads)
        runs = [code.run for code in codes]
        in_constant = node.function == "@in" and codes[1].value is not ABSENT
        if in_constant:

            def membership(state: State) -> Any:
                args = [run(state) for run in runs]
                return dispatch(args)[0].implementation(*args)

            return _Code(membership)

        def run(state: State) -> Any:
            args = []
            for operand in runs:
                args.append(operand(state))  # noqa: PERF401 - a comprehension would take another frame a level
            overload, cost = dispatch(args)
            # Before the call, so that calls beyond the budget do not run.
            state.charge(1 if cost is None else cost(args))
            result = overload.implementation(*args)
            if overload.function in RESULT_COSTS:
                state.charge(RESULT_COSTS[overload.function](result))
            return result

        return _Code(run)

    def folded(self, node: Call, overloads: list[Overload], value: Any) -> _Code:
        try:
            overload, _ = dispatcher(node, overloads)([value])
            return _constant(overload.implementation(value))
        except EvaluationError as error:
            raise ProgramError(str(error)) from None

    def check_program(self, node: Call, codes: list[_Code]) -> None:
        """Checks literal patterns, even if they are never matched."""
        if node.function in _PATTERNS and isinstance(codes[1].value, str):
            try:
                self.functions.by_id["string_find_string"].implementation("", codes[1].value)
            except EvaluationError as error:
                raise ProgramError(str(error).removeprefix("Illegal regex: ")) from None

    def list_literal(self, node: ListExpr) -> _Code:
        codes = [self.compile(element) for element in node.elements]
        if not node.optional and all(code.value is not ABSENT for code in codes):
            return _constant([code.value for code in codes])
        runs = [(code.run, at in node.optional) for at, code in enumerate(codes)]

        def run(state: State) -> list[Any]:
            items: list[Any] = []
            for element, optional in runs:
                value = element(state)
                if not optional:
                    items.append(value)
                elif _unwrapped(value) is not ABSENT:
                    items.append(value.value)
            state.charge(LIST_COST)
            return items

        return _Code(run)

    def map_literal(self, node: MapExpr) -> _Code:
        entries = [
            (self.compile(entry.key), self.compile(entry.value), entry.optional) for entry in node.entries if entry.key
        ]
        if all(key.value is not ABSENT and value.value is not ABSENT and not opt for key, value, opt in entries):
            try:
                return _constant(MapValue((key.value, value.value) for key, value, _ in entries))
            except EvaluationError as error:
                raise ProgramError(str(error)) from None

        def run(state: State) -> MapValue:
            pairs: list[tuple[Any, Any]] = []
            for key, value, optional in entries:
                name, found = key.run(state), value.run(state)
                if not optional:
                    pairs.append((name, found))
                elif _unwrapped(found) is not ABSENT:
                    pairs.append((name, found.value))
            state.charge(MAP_COST)
            return MapValue(pairs)

        return _Code(run)

    def message(self, node: Struct) -> _Code:
        made = node.type
        entries = [(entry.field, self.compile(entry.value).run, entry.optional) for entry in node.entries]

        def run(state: State) -> Message:
            fields: dict[str, Any] = {}
            for name, value, optional in entries:
                found = value(state)
                if not optional:
                    fields[name] = found
                elif _unwrapped(found) is not ABSENT:
                    fields[name] = found.value
            state.charge(MESSAGE_COST)
            return Message(made, fields)

        return _Code(run)

    def comprehension(self, node: Comprehension) -> _Code:
        if node.is_binding:
            return self.binding(node)
        gather = self.gathering(node)
        ranged, initial = self.compile(node.range).run, self.compile(node.initial).run
        condition, step = self.compile(node.condition).run, self.compile(node.step).run
        result = self.compile(node.result).run
        first, second, accumulator = node.variable, node.variable2, node.accumulator

        def run(state: State) -> Any:
            items = _iterate(ranged(state), bool(second))
            variables = state.variables
            saved = [(name, variables.get(name, ABSENT)) for name in (first, second, accumulator) if name]
            try:
                accumulated = gather.start() if gather else initial(state)
                variables[accumulator] = accumulated
                for one, two in items:
                    variables[first] = one
                    if second:
                        variables[second] = two
                    if gather:
                        gather.step(state, accumulated)
                        continue
                    if condition(state) is False:
                        break
                    try:
                        variables[accumulator] = step(state)
                    except EvaluationError as error:
                        variables[accumulator] = error
                for name in (first, second):
                    if name:
                        variables.pop(name, None)
                return result(state)
            finally:
                for name, value in saved:
                    if value is ABSENT:
                        variables.pop(name, None)
                    else:
                        variables[name] = value

        return _Code(run)

    def binding(self, node: Comprehension) -> _Code:
        initial, result, name = self.compile(node.initial).run, self.compile(node.result).run, node.accumulator

        def run(state: State) -> Any:
            saved = state.variables.get(name, ABSENT)
            try:
                state.variables[name] = initial(state)
                return result(state)
            finally:
                if saved is ABSENT:
                    state.variables.pop(name, None)
                else:
                    state.variables[name] = saved

        return _Code(run)

    def gathering(self, node: Comprehension) -> Accumulation | None:
        """Returns the accumulation of a macro that builds a list or a map in place: adding by copying would take
        quadratic time."""
        step = node.step
        predicate: Run | None = None
        if isinstance(step, Call) and step.function == "_?_:_" and isinstance(node.initial, ListExpr | MapExpr):
            predicate = self.compile(step.args[0]).run
            step = step.args[1]
        if not isinstance(step, Call):
            return None
        if isinstance(node.initial, ListExpr) and step.function == "_+_" and isinstance(step.args[1], ListExpr):
            return accumulate_list(predicate, self.compile(step.args[1].elements[0]).run)
        if isinstance(node.initial, MapExpr) and step.function == "cel.@mapInsert":
            return accumulate_map(predicate, [self.compile(argument).run for argument in step.args[1:]])
        return None


def _find(value: Any, field: str) -> Any:
    return value.find(field) if isinstance(value, Mapping) else ABSENT


def _unwrapped(value: Any) -> Any:
    if not isinstance(value, Optional):
        raise no_such_overload()
    return value.value


def _iterate(value: Any, pairs: bool) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, list):
        return iter(list(enumerate(value))) if pairs else ((item, None) for item in value)
    if isinstance(value, Mapping):
        return ((key, value.find(key) if pairs else None) for key in list(value.keys()))
    found = type_of_value(value).name
    raise EvaluationError(f"got 'types.{found.capitalize()}', expected iterable type")
