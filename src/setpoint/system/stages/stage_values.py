"""The conditions and values of stages that depend on an object: selectors, weights and delays."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from setpoint.jq.parser import JqProgram, compile_jq
from setpoint.jq.tokens import JqError
from setpoint.objects import duration as go_duration
from setpoint.objects.goformat import format_v
from setpoint.objects.tree import Json, Object
from setpoint.schema.cel.environment import Environment
from setpoint.schema.cel.timestamps import parse_rfc3339
from setpoint.schema.cel.values import SECOND, Duration, EvaluationError
from setpoint.system.stages.stage_kind import OPERATORS, ExpressionFrom, MatchExpression, StageSelector
from setpoint.system.stages.stage_sources import compile_cel

Condition = Callable[[Object], bool]


class StageError(ValueError):
    """A field of a stage is invalid."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path, self.problem = path, message


def jq_program(text: str, path: str) -> JqProgram:
    """Compiles an expression. Raises StageError."""
    try:
        return compile_jq(text)
    except JqError as error:
        raise StageError(path, f"invalid jq expression: {error}") from None


def cel_program(text: str, path: str, environment: Environment) -> Callable[[Object], Any]:
    """Compiles an expression. Raises StageError."""
    try:
        return compile_cel(text, environment)
    except ValueError as error:
        raise StageError(path, f"invalid CEL expression: {error}") from None


def results_of(program: JqProgram, tree: Object) -> list[Json]:
    """Returns the results that are not null; none if the evaluation fails."""
    return [each for each in program.values(tree) or () if each is not None]


# Selectors


def conditions_of(selector: StageSelector, path: str, environment: Environment) -> list[Condition]:
    """Returns the conditions of a selector. Raises StageError."""
    found: list[Condition] = []
    for field, wanted in (("labels", selector.match_labels), ("annotations", selector.match_annotations)):
        if wanted:
            found.append(_marks(field, wanted))
    for place, each in enumerate(selector.match_expressions):
        found.append(_condition(each, f"{path}.matchExpressions[{place}]", environment))
    return found


def _marks(field: str, wanted: dict[str, str]) -> Condition:
    def holds(tree: Object) -> bool:
        given = tree["metadata"].get(field) or {}
        return all(given.get(key) == value for key, value in wanted.items())

    return holds


def _condition(given: MatchExpression, path: str, environment: Environment) -> Condition:
    if given.jq is not None:
        return _jq_condition(given.jq.key, given.jq.operator, given.jq.values, f"{path}.jq")
    if given.key:
        if given.operator is None:
            raise StageError(f"{path}.operator", f"missing; allowed are {', '.join(OPERATORS)}")
        return _jq_condition(given.key, given.operator, given.values, path)
    if given.cel is None:
        raise StageError(path, "empty; give cel, jq, or key with operator")
    program = cel_program(given.cel.expression, f"{path}.cel.expression", environment)

    def holds(tree: Object) -> bool:
        try:
            return program(tree) is True
        except EvaluationError:
            return False  # as of a field that the object does not have

    return holds


def _jq_condition(key: str, operator: str, values: list[str], path: str) -> Condition:
    program = jq_program(key, f"{path}.key")
    if operator in ("In", "NotIn"):
        if not values:
            raise StageError(f"{path}.values", f"empty; {operator} needs values")
        is_in = operator == "In"

        def has_value(tree: Object) -> bool:
            return any(_text(each) in values for each in results_of(program, tree)) is is_in

        return has_value
    if values:
        raise StageError(f"{path}.values", f"{operator} takes no values; remove them")
    return lambda tree: bool(results_of(program, tree)) is (operator == "Exists")


def _text(value: Json) -> str:
    return "" if isinstance(value, dict | list) else format_v(value)


# Weights and delays


def weight_of(
    given: ExpressionFrom | None, default: int, path: str, environment: Environment
) -> Callable[[Object], Any]:
    """Returns the function for a weight: a number, or None if the object has an invalid one. Raises StageError."""
    read = _reader(given, path, environment)

    def weight(tree: Object) -> int | None:
        value = read(tree)
        if value is None or isinstance(value, dict | list):
            return default
        if isinstance(value, str):
            try:
                return int(value, 0)
            except ValueError:
                return None
        return int(value.nanos) if isinstance(value, Duration) else int(value)

    return weight


def duration_of(
    given: ExpressionFrom | None, default: int | None, path: str, environment: Environment
) -> Callable[[Object, datetime], float | None]:
    """Returns the function for a time in seconds; None if the object has none. Raises StageError."""
    read = _reader(given, path, environment)
    usual = None if default is None else default / 1000

    def seconds(tree: Object, now: datetime) -> float | None:
        value = read(tree)
        if value == "":
            return None
        if isinstance(value, Duration):
            return value.nanos / SECOND
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value / SECOND  # a number of CEL is in nanoseconds
        if isinstance(value, str):
            try:
                return parse_rfc3339(value).nanos / SECOND - now.timestamp()
            except ValueError:
                pass
            try:
                return go_duration.parse(value) / go_duration.SECOND
            except ValueError:
                return usual
        return usual

    return seconds


def _reader(given: ExpressionFrom | None, path: str, environment: Environment) -> Callable[[Object], Any]:
    """Returns the function for the value of an expression; None without a value."""
    if given is None:
        return lambda tree: None
    if given.cel is not None:
        program = cel_program(given.cel.expression, f"{path}.cel.expression", environment)

        def evaluate(tree: Object) -> Any:
            try:
                return program(tree)
            except EvaluationError:
                return None

        return evaluate
    text = given.jq.expression if given.jq is not None else given.expression_from
    if not text:
        raise StageError(path, "empty; give cel, jq or expressionFrom")
    query = jq_program(text, f"{path}.jq.expression" if given.jq is not None else f"{path}.expressionFrom")
    return lambda tree: next(iter(results_of(query, tree)), None)
