"""Templates have the values that Go's text/template gives them, as recorded by `tools/go_templates`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from setpoint.workload.template_execution import ABSENT, Execution
from setpoint.workload.template_nodes import Call, TemplateError
from setpoint.workload.template_parser import parse

TABLE = json.loads((Path(__file__).parent / "cases" / "go_templates.json").read_text())


class NoFunctions:
    """The functions of a template that has only predefined ones."""

    is_secret = False

    def has(self, name: str) -> bool:
        return False

    def entry(self, tree: dict[str, Any], name: str) -> Any:
        return tree.get(name, ABSENT)

    def known(self) -> Sequence[str]:
        return ()

    def call(self, call: Call, arguments: list[Any]) -> Any:
        raise AssertionError(call)

    def root_field(self, names: tuple[str, ...], at: int) -> Any:
        raise AssertionError(names)


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: str(case["text"]))
def test_a_template_has_the_value_that_go_gives_it(case: dict[str, Any]) -> None:
    def render() -> str:
        return Execution(case["text"], parse(case["text"]), NoFunctions(), TABLE["data"]).run().text

    if case.get("fails"):
        with pytest.raises(TemplateError):
            render()
    else:
        assert render() == case["value"]


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
