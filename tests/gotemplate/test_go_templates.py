"""Templates have the values that Go's text/template gives them, as recorded by `tools/go_templates`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.gotemplate.template_cases import NoFunctions, check_case

from setpoint.gotemplate.execution import Execution
from setpoint.gotemplate.nodes import TemplateError
from setpoint.gotemplate.parser import parse

TABLE = json.loads((Path(__file__).parent / "cases" / "go_templates.json").read_text())


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: str(case["text"]))
def test_a_template_has_the_value_that_go_gives_it(case: dict[str, Any]) -> None:
    check_case(case, NoFunctions(), TABLE["data"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ range 100001 }}{{ end }}", "too long"),
        ("{{ range 1000 }}{{ range 1000 }}{{ . }}{{ end }}{{ end }}", "more than 100000 steps"),
        ('{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}', "more than 100 templates"),
        ("{{ if 1 }}" * 101 + "{{ end }}" * 101, "more than 100 control structures"),
        ('{{ printf "%100000d" 1 }}', "widths up to"),
    ],
)
def test_the_work_of_a_template_is_bounded(text: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        Execution(text, parse(text), NoFunctions(), {}).run()
