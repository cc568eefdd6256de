"""setpoint-dcp answers as DCP did when its answers were recorded, or the difference has a reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.dcp.record import answers, recorded
from tests.dcp.scenarios import SCENARIOS
from tests.workload.session.instances import dcp
from tools.dcp_differences import PAGE, differences, with_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return answers(dcp(), Path(tmp_path_factory.mktemp("dcp")))


def test_setpoint_answers_as_dcp_or_for_a_reason(ours: Mapping[str, Any]) -> None:
    known = recorded()
    assert known.keys() == SCENARIOS.keys()
    excused = {name for each in differences() for name in each["scenarios"]}
    different = {name: {"dcp": known[name], "ours": ours[name]} for name in known if ours[name] != known[name]}
    assert {name: each for name, each in different.items() if name not in excused} == {}
    assert excused - different.keys() == set(), "these differences no longer exist: remove their reasons"


def test_the_table_of_differences_is_that_of_the_suite() -> None:
    text = PAGE.read_text()
    assert text == with_table(text), "run `python -m tools.dcp_differences`"
