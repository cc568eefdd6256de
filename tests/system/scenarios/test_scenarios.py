"""The recorded scenarios of Kubernetes' own components, replayed on our controllers in virtual time."""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Any

import pytest
import yaml
from _pytest.mark import ParameterSet
from tests.system.scenarios.normal_form import normal
from tests.system.scenarios.record import RECORDED, prepare_nodes
from tests.system.scenarios.scenario import NAMESPACE, Scenario, Target, collect, run, scenarios

from setpoint import testing
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.simulated_storage import DEFAULT_CLASS
from setpoint.system.persistentvolume.storage_state import CLASS

# The number of scenarios of a file in the quick suite.
_QUICK = 2


@cache
def recorded(file: str) -> Object:
    found: Object = yaml.safe_load((RECORDED / f"{file}.yaml").read_text())
    return found


def suites() -> Iterator[ParameterSet]:
    """Yields the scenarios: the first ones of each controller for the quick suite, the others for the slow one."""
    for _, group in groupby(scenarios(), lambda scenario: scenario.file):
        for place, scenario in enumerate(group):
            yield pytest.param(scenario, id=str(scenario), marks=() if place < _QUICK else pytest.mark.slow)


@pytest.mark.parametrize("scenario", list(suites()))
async def test_a_scenario_ends_as_recorded(scenario: Scenario) -> None:
    async with testing.world(nodes=f"simulated:{max(len(scenario.nodes), 1)}") as world:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        if not scenario.nodes:
            await world.client.delete("v1/Node", "node-0")
        # A cluster has no class of storage unless the scenario creates one.
        await world.client.delete(CLASS, DEFAULT_CLASS)
        await prepare_nodes(world.client, scenario.nodes, create=False)
        await run(scenario, Target(world.client, world.settle, world.advance))
        found = normal(*await collect(world.client))
    assert _comparable(found) == _comparable(recorded(scenario.file)[scenario.name])


def _comparable(value: Any) -> Any:
    """Returns a result with repeated warnings of retries once."""
    if isinstance(value, dict):
        return {key: _comparable(each) for key, each in value.items()}
    if isinstance(value, list):
        found = [_comparable(each) for each in value]
        if found and str(found[0]).startswith("Job "):
            found = _in_batches(found)
        return [
            each
            for place, each in enumerate(found)
            if not (place and each == found[place - 1] and str(each).startswith("Warning "))
        ]
    return value


def _in_batches(events: list[str]) -> list[str]:
    """Returns the events of a job with successive ones of one reason in a fixed order: kube-controller-manager creates
    and deletes the pods of a job concurrently."""
    return [each for _, batch in groupby(events, lambda text: text.partition(": ")[0]) for each in sorted(batch)]


def test_every_record_has_a_scenario() -> None:
    names = {str(each) for each in scenarios()}
    assert {f"{path.stem}: {name}" for path in RECORDED.glob("*.yaml") for name in recorded(path.stem)} == names
