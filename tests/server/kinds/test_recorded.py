"""The rules of the core kinds answer as a real server did: objects, refusals and tables, exactly."""

import pytest
from tests.server.kinds import recorded

if not recorded.SCENARIOS.exists():
    pytest.skip("the recorded scenarios are not here", allow_module_level=True)


@pytest.mark.parametrize("scenario", recorded.scenario_ids())
def test_writes_and_tables_are_as_recorded(scenario: str) -> None:
    steps = list(recorded.follow(scenario))
    differing = [step for step in steps if step.expected != step.found]
    assert [(step.name, step.found) for step in differing] == [(step.name, step.expected) for step in differing]


def test_the_recordings_are_followed_far_enough_to_say_something() -> None:
    steps = [step for scenario in recorded.scenario_ids() for step in recorded.follow(scenario)]
    assert len(steps) > 300
