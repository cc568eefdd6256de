"""The resolver gives the answers of compose-go, which were recorded for all cases."""

import re
import shutil

import pytest
from tests.app.compose.case_files import Case, answer, cases, differences
from tests.app.compose.record import answers

from setpoint.app.compose.project import ComposeError

_UNSET = re.compile(r'The "(\w+)" variable is not set')
_VALID, _INVALID = cases("valid"), cases("invalid")


def _named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", _VALID, ids=_named)
def test_a_project_is_equal_to_that_of_compose_go(case: Case) -> None:
    expected = case.expected()
    warnings = expected.pop("warnings", [])

    project = case.resolve()

    assert differences(answer(project), expected) == []
    unset = {name for warning in warnings for name in _UNSET.findall(warning)}
    found = re.findall(r"the variable (\w+) is not set", "\n".join(map(str, project.warnings)))
    assert set(found) == unset


@pytest.mark.parametrize("case", _INVALID, ids=_named)
def test_a_file_that_compose_go_rejects_is_rejected_with_line_and_remedy(case: Case) -> None:
    assert case.expected()["error"]

    with pytest.raises(ComposeError) as raised:
        case.resolve()

    for problem in raised.value.problems:
        assert problem.file.startswith(case.root)
        assert problem.line > 0 or "does not exist" in problem.text
        assert re.search(r"[;?] ?|allowed are|did you mean", problem.text), problem.text


def test_there_are_enough_cases() -> None:
    assert len(_VALID) >= 60
    assert len(_INVALID) >= 50


@pytest.mark.slow
def test_the_recordings_are_the_answers_of_compose_go() -> None:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    asked = [*_VALID, *_INVALID]

    for case, found in zip(asked, answers(asked), strict=True):
        expected = case.expected()
        if "error" not in expected:
            assert found == expected, case.name
        else:
            assert "error" in found, case.name
