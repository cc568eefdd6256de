"""Laws that hold for every expression: about reading it, about what it costs, and about its generated code."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from setpoint.schema.cel import compile_rules
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.evaluation_state import State
from setpoint.schema.cel.parser import parse
from setpoint.schema.cel.program import Program, measure
from setpoint.schema.cel.sizes import Largest
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.values import CostExceeded, EvaluationError
from setpoint.schema.cel.views import view
from setpoint.schema.openapi import Schema

from .expressions import SCHEMA, conditions, expressions, objects
from .tables import environment, shown, table
from .unparse import structure, unparse

_ENVIRONMENT, _SELF = environment(SCHEMA)
_many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
_NO_LIMIT = 10**18


def _program(expression: str) -> Program | None:
    try:
        return Program(expression, _ENVIRONMENT, _SELF)
    except ProgramError:
        return None


def _outcome(program: Program, tree: Any, limit: int = _NO_LIMIT) -> tuple[Any, State]:
    state = program.start({"self": view(tree, _SELF)}, limit)
    try:
        return shown(program.exact(state)), state
    except EvaluationError as error:
        return error, state


@_many
@given(expressions)
def test_reading_what_was_written_back_gives_the_same_tree(expression: str) -> None:
    tree = parse(expression)
    assert structure(parse(unparse(tree))) == structure(tree)


def test_every_expression_of_the_tables_survives_being_written_back() -> None:
    for cases in table("expressions")["behaviours"].values():
        for case in cases:
            try:
                tree = parse(case["expr"])
            except CompileError:
                continue
            assert structure(parse(unparse(tree))) == structure(tree), case["expr"]


@_many
@given(expressions, objects)
def test_no_run_costs_more_than_the_bound(expression: str, tree: Any) -> None:
    program = _program(expression)
    if program is None:
        return
    _, state = _outcome(program, tree)
    encoded = len(msgspec.json.encode(tree))
    assert state.cost <= program.bound()
    assert state.cost <= program.bound(measure(tree))
    assert state.cost <= program.bound(Largest(encoded, encoded, encoded))


@_many
@given(expressions, objects)
def test_generated_code_agrees_with_exact_evaluation(expression: str, tree: Any) -> None:
    program = _program(expression)
    if program is None or program.fast is None:
        return
    try:
        value = shown(program.fast(tree, None))
    except Exception:  # exact evaluation then says what it means
        return
    assert value == _outcome(program, tree)[0]


@_many
@given(conditions, objects)
def test_an_object_breaks_a_rule_exactly_if_it_does_not_evaluate_to_true(condition: str, tree: Any) -> None:
    program = _program(condition)
    if program is None:
        return
    rules = compile_rules(Schema.parse({**SCHEMA, "x-kubernetes-validations": [{"rule": condition}]}), root=False)
    assert rules is not None
    outcome = _outcome(program, tree)[0]
    for size in (None, 10_000):
        found = [error.error.message for error in rules.validate(tree, size=size)]
        if outcome is True:
            assert found == []
        elif outcome is False:
            assert found == [f"Invalid value: failed rule: {condition}"]
        else:
            assert len(found) == 1
            assert str(outcome) in found[0]


@_many
@given(expressions, objects)
def test_a_limit_ends_exactly_the_runs_that_cost_more(expression: str, tree: Any) -> None:
    program = _program(expression)
    if program is None:
        return
    outcome, state = _outcome(program, tree)
    assert str(_outcome(program, tree, limit=state.cost)[0]) == str(outcome)
    if state.cost:
        with pytest.raises(CostExceeded):
            _outcome(program, tree, limit=state.cost - 1)
