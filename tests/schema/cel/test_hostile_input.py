"""Expressions and data made to hurt end in a plain error, soon."""

from typing import Any

import pytest

from setpoint.schema.cel import compile_rules, validate_rules
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.values import CostExceeded, EvaluationError
from setpoint.schema.cel.views import view
from setpoint.schema.openapi import Schema

from .tables import environment

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow

_SCHEMA = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}}},
}
_ENVIRONMENT, _SELF = environment(_SCHEMA)


def _compile(text: str) -> Program:
    return Program(text, _ENVIRONMENT, _SELF)


def _run(text: str, tree: Any = None) -> Any:
    program = _compile(text)
    return program.exact(program.start({"self": view(tree or {"s": "a", "l": [1, 2]}, _SELF)}))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(" * 100_000 + "1" + ")" * 100_000, "expression code point size exceeds limit: size: 200001, limit 100000"),
        ("(" * 49_000 + "1" + ")" * 49_000, "expression recursion limit exceeded: 250"),
        ("(" * 251 + "1" + ")" * 251, "expression recursion limit exceeded: 250"),
        ("[" * 40_000, "expression recursion limit exceeded: 250"),
        ("{1:" * 30_000, "expression recursion limit exceeded: 250"),
        ("f(" * 40_000, "expression recursion limit exceeded: 250"),
        ("self.a" + ".a" * 40_000, "max recursion depth exceeded"),
        ("self" + "[0]" * 30_000, "max recursion depth exceeded"),
        ("1" + " + 1" * 20_000, "max recursion depth exceeded"),
        ("1" + " + 1" * 251, "max recursion depth exceeded"),
        ("true ? 1 : " * 9_000 + "1", "expression recursion limit exceeded: 250"),
        ("9" * 90_000, "invalid int literal"),
        ("9" * 90_000 + "u", "invalid uint literal"),
        ("9" * 90_000 + ".0", "invalid double literal"),
        ("0x" + "f" * 90_000, "invalid int literal"),
        ("'" + "a" * 90_000, "token recognition error"),
        ("'" * 99_999, "token recognition error"),
        ('"""' + "\\" * 90_000, "token recognition error"),
        ("@" * 50_000, "more errors were truncated"),
        ("x" * 1_000_000, "expression code point size exceeds limit: size: 1000000, limit 100000"),
        ("", "mismatched input '<EOF>'"),
        ("\ud800", "token recognition error"),
        ("\x00", "token recognition error"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_text_that_is_no_sane_expression_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CompileError) as caught:
        _compile(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "!" * 90_001 + "true",
        "-" * 90_000 + "1",
        " && ".join(["true"] * 12_000),
        " || ".join(["self.s == 'x'"] * 5_000),
        "[" + "1," * 40_000 + "1].size()",
        "(" * 200 + "1" + ")" * 200,
        "'" + "a" * 90_000 + "'.size()",
        "1" + " + 1" * 240,
        "[" * 150 + "1" + "]" * 150,
        "int(" * 120 + "1" + ")" * 120,
        "(" * 120 + "self.l.map(x, x" + ")" * 121,
        "[1]" + ".map(x, x)" * 120,
        "true ? 1 : " * 150 + "2",
    ],
    ids=lambda text: text[:20],
)
def test_text_that_is_only_long_is_evaluated(text: str) -> None:
    assert _run(text) is not None


def _doubling(start: str, step: str, times: int) -> str:
    return f"[{start}]" + "".join(f".map(v{at}, {step.format(f'v{at}')})" for at in range(times))


@pytest.mark.parametrize(
    "text",
    [
        "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, true))))",
        _doubling("[1]", "{0} + {0}", 60) + "[0].size() > 0",
        _doubling("'ab'", "{0} + {0}", 60) + "[0].size() > 0",
        _doubling("'ab'", "{0}.replace('', {0})", 8) + "[0].size() > 0",
        _doubling("[1]", "[{0}, {0}]", 60) + " == " + _doubling("[1]", "[{0}, {0}]", 60),
        "'%s'.format([dyn(" + _doubling("[1]", "[{0}, {0}]", 60) + ")])",
        _doubling("[1]", "[{0}, {0}]", 60) + ".flatten(70).size() > 0",
        _doubling("[1]", "[{0}, {0}]", 60) + ".indexOf([]) == 0",
        "lists.range(900000).map(x, x)",
        "sets.contains(lists.range(300000), lists.range(300000))",
        "lists.range(900000).sort()",
        "lists.range(400000).distinct()",
        "self.l.map(x, lists.range(100000)).flatten().size()",
    ],
    ids=lambda text: text[:40],
)
def test_expressions_that_grow_without_end_are_stopped(text: str) -> None:
    with pytest.raises(CostExceeded):
        _run(text, {"s": "a", "l": list(range(200))})


def test_a_pattern_made_to_hang_does_not() -> None:
    assert _run("self.s.matches('^(a+)+$')", {"s": "a" * 5_000 + "b"}) is False
    assert _run("self.s.find('(x+x+)+y') == ''", {"s": "x" * 5_000}) is True


def test_a_pattern_that_needs_too_much_is_refused() -> None:
    with pytest.raises(CompileError, match="invalid matches argument"):
        _compile("self.s.matches('((a{1000}){1000}){1000}')")


def test_lone_surrogates_match_like_unknown_characters() -> None:
    assert _run(r"self.s.matches('^\\p{L}$')", {"s": "\ud800"}) is False
    assert _run("self.s.findAll('.').size()", {"s": "a\ud800"}) == 2


@pytest.mark.parametrize(
    "tree",
    [{"s": 1}, {"s": None}, {"s": []}, {"l": {}}, {"l": [None]}, {"l": ["a"]}, {"l": [True]}, {"l": [1.5]}, {"s": {}}],
    ids=str,
)
def test_data_that_is_not_what_the_schema_says_is_an_error(tree: Any) -> None:
    with pytest.raises(EvaluationError):
        _run("self.s.size() + self.l.sum() > 0", {"s": "a", "l": [1], **tree})


def test_a_rule_too_deep_to_be_generated_is_still_applied() -> None:
    rule = "(" * 190 + "self.s == 'a'" + ")" * 190
    schema = Schema.parse({**_SCHEMA, "x-kubernetes-validations": [{"rule": rule}]})
    assert validate_rules(schema, "root") == []
    rules = compile_rules(schema)
    assert rules is not None
    assert rules.validate({"s": "a"}) == []
    assert len(rules.validate({"s": "b"})) == 1


def test_a_constant_that_can_never_be_converted_is_found_at_once() -> None:
    with pytest.raises(ProgramError, match="type conversion error from 'string' to 'int'"):
        _compile("true || int('x') == 1")


def test_finding_the_old_items_of_a_long_list_takes_time_by_its_length() -> None:
    """Looking through the old list for each item would take minutes, which the suite's own limit does not allow."""
    value = {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}
    item = {"type": "object", "properties": {"k": {"type": "string", "maxLength": 10}, "v": value}}
    items = {"type": "array", "maxItems": 20000, "items": item}
    keyed = {**items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    rules = compile_rules(Schema.parse({"type": "object", "properties": {"list": keyed}}))
    assert rules is not None
    old = {"list": [{"k": str(number), "v": number} for number in range(20000)]}
    new = {"list": [*old["list"][:0:-1], {"k": "0", "v": -1}]}
    assert [error.error.field for error in rules.validate(new, old)] == ["list[19999].v"]
