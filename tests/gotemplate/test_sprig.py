"""The functions of Sprig have the values that Sprig gives them, as recorded by `tests/oracle/go/kwok/sprig`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gotemplate.template_cases import NoFunctions, check_case

from setpoint.gotemplate.calls import check_calls
from setpoint.gotemplate.execution import Execution
from setpoint.gotemplate.nodes import Call, TemplateError
from setpoint.gotemplate.parser import parse
from setpoint.gotemplate.sprig import SPRIG

CASES = json.loads((Path(__file__).parent / "cases" / "sprig.json").read_text())


class Sprig(NoFunctions):
    """The functions of Sprig, without their checks of the number of arguments."""

    def has(self, name: str) -> bool:
        return name in SPRIG

    def call(self, call: Call, arguments: list[Any]) -> Any:
        try:
            return SPRIG[call.function].body(arguments)
        except ValueError as error:
            raise TemplateError(str(error), "", 0) from None


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["text"]))
def test_a_function_has_the_value_that_sprig_gives_it(case: dict[str, Any]) -> None:
    check_case(case, Sprig(), {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{{ repeat 10000000 "a" }}', "longer than"),
        ('{{ indent 10000000 "a" }}', "longer than"),
        ("{{ until 1000000 }}", "more than 10000 numbers"),
        ('{{ regexMatch "(" "a" }}', "missing closing"),
    ],
)
def test_the_work_of_a_function_is_bounded(text: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        Execution(text, parse(text), Sprig(), {}).run()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n {{ if true }}{{ frob 1 }}{{ end }}", "unknown function frob; available: .*upper.*line 2, column"),
        ("{{ with (index (frob) 0) }}{{ end }}", "unknown function frob"),
        ('{{ define "t" }}{{ env "HOME" }}{{ end }}', "unknown function env"),
        ('{{ template "t" }}', "template t is not defined"),
    ],
)
def test_unknown_functions_are_found_without_execution(text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        check_calls(text, parse(text), SPRIG)
    check_calls("{{ upper (printf .a | lower) }}", parse("{{ upper (printf .a | lower) }}"), SPRIG)
