"""The recorded scenarios of KWOK with stages, replayed in virtual time."""

import pytest
import yaml
from tests.system.scenarios.scenario import NAMESPACE, Target, run
from tests.system.stages.stage_scenarios import RECORDED, StageScenario, result_of, stage_scenarios
from tests.system.stages.stage_trees import stages

from setpoint import testing

# The number of scenarios in the quick suite.
_QUICK = 6
_SCENARIOS = [
    pytest.param(each, id=each.scenario.name, marks=() if place < _QUICK else pytest.mark.slow)
    for place, each in enumerate(stage_scenarios())
]


@pytest.mark.parametrize("each", _SCENARIOS)
async def test_a_scenario_ends_as_with_kwok(each: StageScenario) -> None:
    async with testing.world(nodes=testing.simulated(stages=stages(*each.stages))) as world:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        await run(each.scenario, Target(world.client, world.settle, world.advance))
        found = await result_of(world.client)
    assert found == yaml.safe_load(RECORDED.read_text())[each.scenario.name]


def test_every_record_has_a_scenario() -> None:
    assert set(yaml.safe_load(RECORDED.read_text())) == {each.scenario.name for each in stage_scenarios()}
