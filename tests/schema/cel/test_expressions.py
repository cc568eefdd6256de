"""Expressions mean what they mean on a real API server: their values, errors, problems and estimated costs."""

import re
from typing import Any

import pytest

from setpoint.schema.cel.cost_static import estimate
from setpoint.schema.cel.evaluate import ProgramError
from setpoint.schema.cel.program import Program
from setpoint.schema.cel.source_text import CompileError
from setpoint.schema.cel.values import EvaluationError
from setpoint.schema.cel.views import view

from .tables import environment, shown, table

_TABLE = table("expressions")
_ENVIRONMENT, _SELF = environment(_TABLE["schema"])


def _answer(expression: str) -> dict[str, Any]:
    """What the engine says of an expression, in the form of the table."""
    answer: dict[str, Any] = {"expr": expression}
    try:
        program = Program(expression, _ENVIRONMENT, _SELF)
    except CompileError as error:
        return answer | {"problems": re.findall(r"^ERROR: <input>:(.*)$", str(error), re.MULTILINE)}
    except ProgramError as error:
        return answer | {"never": str(error)}
    answer["cost"] = list(estimate(program.tree, _SELF))
    state = program.start({"self": view(_TABLE["self"], _SELF)})
    try:
        answer["value"] = shown(program.exact(state))
    except EvaluationError as error:
        answer["error"] = str(error)
    return answer


@pytest.mark.parametrize("behaviour", _TABLE["behaviours"])
def test_answers_as_the_real_server(behaviour: str) -> None:
    wrong = []
    for case in _TABLE["behaviours"][behaviour]:
        answer = _answer(case["expr"])
        if "kind" in case:
            # A value that YAML cannot write: that there is one, and of which type, is all the table says.
            assert str(answer.pop("value").cel_type) == case["kind"]
            case = {key: value for key, value in case.items() if key != "kind"}
        if answer != case:
            wrong.append((answer, case))
    assert not wrong


def test_generated_code_gives_the_exact_value_or_raises() -> None:
    generated = 0
    cases = [case for cases in _TABLE["behaviours"].values() for case in cases if "cost" in case]
    for case in cases:
        program = Program(case["expr"], _ENVIRONMENT, _SELF)
        if program.fast is None:
            continue
        generated += 1
        try:
            value = program.fast(_TABLE["self"], None)
        except Exception:  # exact evaluation then says what it means
            continue
        assert "error" not in case, case["expr"]
        if "value" in case:
            assert shown(value) == case["value"], case["expr"]
    # Most expressions have generated code; should that change, something that was fast no longer is.
    assert generated > 0.7 * len(cases)


@pytest.mark.parametrize("case", table("problems"), ids=lambda case: repr(case["text"])[:40])
def test_reports_problems_as_the_real_server(case: dict[str, str]) -> None:
    try:
        Program(case["text"], _ENVIRONMENT, _SELF)
        report = None
    except CompileError as error:
        report = str(error)
    assert report == case.get("report")
