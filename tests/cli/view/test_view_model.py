"""What a view makes of the objects it is told of: rows, news, and how the app is as a whole."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.cli.app.view.layout import Widths, table
from setpoint.cli.app.view.model import Model
from setpoint.cli.app.view.parts import After, Part
from setpoint.cli.output.terminal import Terminal
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object

CASES = yaml.safe_load((Path(__file__).parent / "starts.yaml").read_text())
BEGAN = datetime(2026, 1, 2, 14, 2, 8, tzinfo=UTC)
KINDS = {"exe": "Executable", "ctr": "Container", "set": "ExecutableReplicaSet", "task": "Task", "svc": "Service"}
GROUP = "usvc-dev.developer.microsoft.com"
TIMES = ("startupTimestamp", "nextRestartTime")


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def tree_of(given: dict[str, Any]) -> Object:
    """An object that was written in short."""
    said = dict(given)
    word = next(key for key in KINDS if key in said)
    name = said.pop(word)
    part = said.pop("part", said.get("of", name))
    metadata: Object = {"name": name, "uid": f"{word}/{name}", "labels": {"setpoint.dev/part": part}, "annotations": {}}
    metadata["generation"] = said.pop("generation", 1)
    if request := said.pop("request", ""):
        metadata["annotations"]["setpoint.dev/restart-requested-at"] = request
    if owner := said.pop("of", ""):
        metadata["ownerReferences"] = [{"kind": "ExecutableReplicaSet", "name": owner, "uid": f"set/{owner}"}]
        prefix = f"executable-replica-set.{GROUP}"
        metadata["annotations"][f"{prefix}/replica-set-name"] = owner
        metadata["annotations"][f"{prefix}/display-name"] = f"{owner}-{said.pop('number')}"
    spec = {**({"template": {"spec": {}}} if word == "set" else {}), **said.pop("spec", {})}
    status: Object = {"observedGeneration": metadata["generation"], **said}
    if "ready" in said:
        ready, reason, message = status.pop("ready")
        condition = {"status": ready, "reason": reason, "message": message}
        status["conditions"] = [{**condition, "type": each} for each in ("Started", "Ready")]
    for each in TIMES:
        if each in status:
            status[each] = format_micro_time(at(status[each]))
    group = "setpoint.dev" if word == "task" else GROUP
    return {"apiVersion": f"{group}/v1", "kind": KINDS[word], "metadata": metadata, "spec": spec, "status": status}


def part(given: dict[str, Any]) -> Part:
    after = tuple(After(name) for name in given.get("after", ()))
    return Part(given["name"], given.get("kind", "process"), given.get("detail", ""), after)


@pytest.mark.parametrize("case", CASES, ids=[case["about"].replace(" ", "-") for case in CASES])
def test_a_view_knows(case: dict[str, Any]) -> None:
    model = Model([part(each) for each in case["parts"]], BEGAN)
    for step in case["steps"]:
        now = at(step["at"])
        if "settled" in case and step["at"] > case["settled"]:
            model.finish_starting()
            case = {key: value for key, value in case.items() if key != "settled"}
        for given in step.get("put", ()):
            model.put(tree_of(given), now)
        for given in step.get("remove", ()):
            model.remove(tree_of(given))
        found: dict[str, Any] = {"news": [each.text for each in model.refresh(now)]}
        rows = model.rows(now)
        verdict = model.verdict()
        found["rows"] = [" ".join(line.split()) for line in table(rows, Widths().grown(rows), Terminal())]
        found |= {"ready": verdict.ready, "failed": list(verdict.failed), "stuck": verdict.stuck}
        found |= {"seconds": model.seconds(), "path": model.critical_path()}
        wanted = {key: value for key, value in step.items() if key in found}
        assert {"at": step["at"], **{key: found[key] for key in wanted}} == {"at": step["at"], **wanted}
