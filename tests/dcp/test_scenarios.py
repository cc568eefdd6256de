"""setpoint-dcp answers as DCP did when its answers were recorded, or the difference has a reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.dcp.container_scenarios import CONTAINER_SCENARIOS
from tests.dcp.engine import podman
from tests.dcp.record import CONTAINER_RECORD, answers, recorded
from tests.workload.session.instances import dcp
from tools.dcp_differences import PAGE, differences, with_table

pytestmark = pytest.mark.slow


def compare(known: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Fails if an answer differs without a reason, or if there is a reason and no difference."""
    assert known.keys() == ours.keys()
    excused = {name for each in differences() for name in each["scenarios"]} & known.keys()
    different = {name: {"dcp": known[name], "ours": ours[name]} for name in known if ours[name] != known[name]}
    assert {name: each for name, each in different.items() if name not in excused} == {}
    assert excused - different.keys() == set(), "these differences no longer exist: remove their reasons"


def test_setpoint_answers_as_dcp_or_for_a_reason(tmp_path: Path) -> None:
    compare(recorded(), answers(dcp(), tmp_path))


@pytest.mark.timeout(400)
def test_setpoint_runs_containers_as_dcp_or_for_a_reason(tmp_path: Path) -> None:
    known = recorded(CONTAINER_RECORD)
    excused = {name for each in differences() for name in each["scenarios"]}
    with podman() as engine:
        ours = answers(dcp(), tmp_path, CONTAINER_SCENARIOS, engine)
        # The engine of a crowded machine may be too slow for the patience of a scenario: these have a second attempt.
        late = {name: CONTAINER_SCENARIOS[name] for name in known if ours[name] != known[name] and name not in excused}
        if late:
            (tmp_path / "again").mkdir()
            ours |= answers(dcp(), tmp_path / "again", late, engine)
        compare(known, ours)


def test_each_reason_is_that_of_a_scenario() -> None:
    named = {name for each in differences() for name in each["scenarios"]}
    assert named <= recorded().keys() | recorded(CONTAINER_RECORD).keys()


def test_the_table_of_differences_is_that_of_the_suite() -> None:
    text = PAGE.read_text()
    assert text == with_table(text), "run `python -m tools.dcp_differences`"
