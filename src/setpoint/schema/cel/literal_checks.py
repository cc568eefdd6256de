"""Checks of literals after type checking: durations, timestamps, patterns, templates, and lists of one type."""

from setpoint.schema.cel.ast import Call, Expr, ListExpr, Literal, MapExpr
from setpoint.schema.cel.libraries.conversions import to_duration, to_timestamp
from setpoint.schema.cel.libraries.string_format import ACCEPTS, RULES, clauses, complaint, runtime_name
from setpoint.schema.cel.parser import children
from setpoint.schema.cel.source_text import CompileError, Problem
from setpoint.schema.cel.types import Type, unwrap_optional
from setpoint.schema.cel.values import EvaluationError
from setpoint.schema.regex import pattern_error


def check_literals(source: str, tree: Expr) -> None:
    """Raises `CompileError` for a literal that is always invalid."""
    problems: list[Problem] = []
    pending: list[tuple[Expr, bool]] = [(tree, False)]
    while pending:
        node, in_format = pending.pop()
        if isinstance(node, Call):
            problems.extend(_check_call(node))
            in_format = in_format or node.function == "format"
        elif isinstance(node, ListExpr | MapExpr) and not in_format:
            problems.extend(_check_elements(node))
        pending.extend((child, in_format) for child in children(node))
    if problems:
        raise CompileError(source, problems)


def _check_call(node: Call) -> list[Problem]:
    if node.function in ("duration", "timestamp") and isinstance(node.args[0], Literal):
        convert = to_duration if node.function == "duration" else to_timestamp
        try:
            convert(node.args[0].value)
        except EvaluationError:
            return [Problem(node.args[0].offset, f"invalid {node.function} argument")]
    if node.function == "matches":
        pattern = node.args[-1]
        if isinstance(pattern, Literal) and isinstance(pattern.value, str) and pattern_error(pattern.value):
            return [Problem(pattern.offset, "invalid matches argument")]
    if node.function == "format":
        return _check_format(node)
    return []


def _check_format(node: Call) -> list[Problem]:
    template, given = node.target, node.args[0]
    if not isinstance(template, Literal) or not isinstance(template.value, str) or not isinstance(given, ListExpr):
        return []
    try:
        wanted = [(clause, precision) for _, clause, precision in clauses(template.value) if clause not in ("", "%")]
    except EvaluationError as error:
        return [Problem(node.offset, str(error))]
    if len(wanted) > len(given.elements):
        return [Problem(node.offset, f"index {len(given.elements)} out of range")]
    if len(wanted) < len(given.elements):
        text = f"too many arguments supplied to string.format (expected {len(wanted)}, got {len(given.elements)})"
        return [Problem(node.offset, text)]
    return [
        Problem(element.offset, f"error during formatting: {complaint(RULES[clause], runtime_name(element.type))}")
        for (clause, precision), element in zip(wanted, given.elements, strict=True)
        # A clause with a precision is checked only at run time.
        if precision is None and element.type.kind not in ACCEPTS[clause]
    ]


def _check_elements(node: ListExpr | MapExpr) -> list[Problem]:
    if isinstance(node, ListExpr):
        return _differing([(item, at in node.optional) for at, item in enumerate(node.elements)])
    keys = [(entry.key, False) for entry in node.entries if entry.key is not None]
    return _differing(keys) + _differing([(entry.value, entry.optional) for entry in node.entries])


def _differing(elements: list[tuple[Expr, bool]]) -> list[Problem]:
    expected: Type | None = None
    for node, optional in elements:
        found = unwrap_optional(node.type)[0] if optional else node.type
        if expected is None:
            expected = found
        elif found != expected:
            return [Problem(node.offset, f"expected type '{expected}' but found '{found}'")]
    return []
