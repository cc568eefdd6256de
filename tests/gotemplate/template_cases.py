"""Cases of templates with recorded values, and the functions of a template that has only predefined ones."""

from collections.abc import Sequence
from typing import Any

import pytest

from setpoint.gotemplate.execution import ABSENT, Execution
from setpoint.gotemplate.nodes import Call, TemplateError
from setpoint.gotemplate.parser import parse


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


def check_case(case: dict[str, Any], functions: NoFunctions, data: dict[str, Any]) -> None:
    """Asserts that a template has the recorded value, or fails as recorded."""

    def render() -> str:
        return Execution(case["text"], parse(case["text"]), functions, data).run().text

    if case.get("fails"):
        with pytest.raises(TemplateError):
            render()
    else:
        assert render() == case["value"]
