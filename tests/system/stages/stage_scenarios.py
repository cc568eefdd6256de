"""The scenarios with stages, and the comparable form of their results."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.system.scenarios.scenario import EVENT, NAMESPACE, Scenario

from setpoint.client.client import Client
from setpoint.objects.tree import Object

DIRECTORY = Path(__file__).parent
RECORDED = DIRECTORY / "recorded.yaml"
_KINDS = ("v1/Pod", "batch/v1/Job", "v1/ConfigMap", "v1/Secret")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_ADDRESS = re.compile(r"^\d+\.\d+\.\d+\.\d+$")
# The fields of the status that stages write; other ones belong to newer servers.
_STATUS = ("phase", "conditions", "containerStatuses", "hostIP", "podIP", "startTime", "succeeded", "failed")
_CONDITION = ("type", "status", "reason")


class StageScenario(NamedTuple):
    """A scenario, and the names of its stages."""

    scenario: Scenario
    stages: list[str]


def stage_scenarios() -> Iterator[StageScenario]:
    """Yields all scenarios."""
    for name, content in yaml.safe_load((DIRECTORY / "scenarios.yaml").read_text()).items():
        if not name.startswith("."):
            yield StageScenario(Scenario("stages", name, [{}], content["steps"]), content["stages"])


async def result_of(client: Client) -> Object:
    """Returns the comparable objects and events of the namespace."""
    found = [item for kind in _KINDS for item in (await client.list(kind, NAMESPACE)).items]
    events = [
        f"{each['type']} {each['reason']}: {each['note']}"
        for each in (await client.list(EVENT, NAMESPACE)).items
        if (each.get("deprecatedSource") or {}).get("component") == "kwok_controller"
    ]
    shown = [_object(each) for each in found if each["metadata"]["name"] != "kube-root-ca.crt"]
    return {"objects": sorted(shown, key=str), "events": sorted(events)}


def _object(obj: Object) -> Object:
    metadata, status = obj["metadata"], obj.get("status") or {}
    found: Object = {"kind": obj["kind"], "name": re.sub(r"-[a-z0-9]{5}$", "-POD", metadata["name"])}
    for field in ("finalizers", "annotations"):
        if metadata.get(field):
            found[field] = _plain(metadata[field])
    if metadata.get("deletionTimestamp"):
        found["deleted"] = True
    if "data" in obj:
        found["data"] = _plain(obj["data"])
    found["status"] = {name: _plain(status[name]) for name in _STATUS if name in status}
    if conditions := found["status"].pop("conditions", None):
        found["conditions"] = sorted([each.get(name, "") for name in _CONDITION] for each in conditions)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return _ADDRESS.sub("ADDRESS", _TIME.sub("TIME", value))
    return value
