"""Environments other than that of a rule: variables of any type, dotted names, untyped objects and an authorizer."""

from typing import Any

import pytest

from setpoint.schema.cel.environment import Environment, Variable
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.types import BOOL, DYN, STRING, struct
from setpoint.schema.cel.values import EvaluationError
from setpoint.schema.cel.views import untyped


class _Authorizer:
    """Answers every question with whether the verb is `get`, and remembers what it was asked about."""

    def __init__(self, *asked: str) -> None:
        self.asked = asked

    def group(self, name: str) -> "_Authorizer":
        return _Authorizer(*self.asked, name)

    resource = namespace = name = group

    def check(self, verb: str) -> "_Decision":
        return _Decision(verb == "get")


class _Decision:
    def __init__(self, allowed: bool) -> None:
        self._allowed = allowed

    def allowed(self) -> bool:
        return self._allowed


_PACKAGE = "kubernetes.authorization."
_ENVIRONMENT = Environment(
    {
        "object": Variable(DYN),
        "oldObject": Variable(DYN),
        "variables.team": Variable(STRING),
        "variables.strict": Variable(BOOL),
        "authorizer": Variable(struct(f"{_PACKAGE}Authorizer")),
        "authorizer.requestResource": Variable(struct(f"{_PACKAGE}ResourceCheck")),
    }
)
_VARIABLES = {
    "object": untyped({"metadata": {"labels": {"team": "a"}}, "spec": {"replicas": 3, "items": [{"x": 1.5}]}}),
    "oldObject": None,
    "variables.team": "a",
    "variables.strict": False,
    "authorizer": _Authorizer(),
    "authorizer.requestResource": _Authorizer(),
}


def _run(expression: str) -> Any:
    program = Program(expression, _ENVIRONMENT)
    return program.exact(program.start(dict(_VARIABLES)))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("object.spec.replicas <= 5", True),
        ("object.spec.replicas + 1", 4),
        ("has(object.spec.paused)", False),
        ("object.metadata.labels.team == variables.team && !variables.strict", True),
        ("object.spec.items.all(i, i.x > 1)", True),
        ("oldObject == null", True),
        ("object.?spec.?nope.orValue('none')", "none"),
        ("authorizer.group('apps').resource('deployments').namespace('x').check('get').allowed()", True),
        ("authorizer.requestResource.check('delete').allowed()", False),
        ("object.spec == object.spec", True),
    ],
)
def test_a_policy_sees_its_variables(expression: str, value: Any) -> None:
    assert _run(expression) == value


def test_a_missing_field_of_an_untyped_object_is_an_error_when_it_is_read() -> None:
    with pytest.raises(EvaluationError, match="no such key: nope"):
        _run("object.spec.nope == 1")


def test_variables_that_are_not_declared_are_refused() -> None:
    with pytest.raises(CompileError, match=r"undeclared reference to 'self' \(in container ''\)"):
        Program("self.x", _ENVIRONMENT)
    with pytest.raises(CompileError, match="undeclared reference to 'variables'"):
        Program("variables.other == 'x'", _ENVIRONMENT)


def test_asking_the_authorizer_costs_so_much_that_only_two_questions_fit() -> None:
    question = "authorizer.requestResource.check('get').allowed()"
    assert 700_000 < Program(f"{question} && {question}", _ENVIRONMENT).max_cost < 1_000_000
    program = Program(question, _ENVIRONMENT)
    state = program.start(dict(_VARIABLES))
    program.exact(state)
    assert 350_000 < state.cost < 350_010
