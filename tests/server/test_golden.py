"""The recorded scenarios of a real kube-apiserver, replayed against ours: every answer, its wording included.

What does not pass is listed in `not_yet.yaml` with the reason, and must leave that list as soon as it passes.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server import golden

NOT_YET = golden.not_yet()
PASSING = [scenario_id for scenario_id in golden.scenario_ids() if scenario_id not in NOT_YET]


@pytest.fixture(scope="module")
def target() -> Iterator[Any]:
    with golden.serving() as found:
        yield found


@pytest.mark.parametrize("scenario_id", PASSING)
def test_the_server_answers_as_the_recorded_one(scenario_id: str, target: Any) -> None:
    scenario = golden.load(scenario_id)
    if scenario.get("webhooks") and not shutil.which("openssl"):
        pytest.skip("the webhooks of the scenarios make their certificate with the command openssl")
    found = golden.differences(scenario, target)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("scenario_id", sorted(NOT_YET))
def test_a_scenario_that_is_waited_for_does_not_pass_yet(scenario_id: str, target: Any) -> None:
    assert scenario_id in golden.scenario_ids(), "there is no such scenario: take it off the list"
    scenario = golden.load(scenario_id)
    found = golden.differences(golden.impatient(scenario), target)
    assert found, "it passes: take it off the list in not_yet.yaml"
    if only := NOT_YET[scenario_id].only:
        assert not golden.beyond(found, scenario, only)
