"""`why` of workloads that crash or are restarted, on real processes: the root cause comes first."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.ports import free_ports
from tests.workload.app import GROUP, PYTHON, App, app, condition_of

from setpoint.client.kinds import KindRef
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.provenance import Actor, Reason
from setpoint.past.change import FieldChange
from setpoint.past.object_ref import ObjectReference
from setpoint.past.revision import Revision
from setpoint.past.why.explain import _trigger_text, explain
from setpoint.past.why.explanation import Explanation
from setpoint.past.why.fact_collector import collect
from setpoint.past.why.facts import Link

# Crashes once, and then stays without listening.
CRASHES = """
import os, signal, sys
if not os.path.exists("crashed"):
    open("crashed", "w").close()
    sys.exit("no database")
print("up", flush=True)
signal.pause()
"""


async def why(world: App, kind: str, name: str) -> Explanation:
    group, version = GROUP.split("/")
    resource = await world.client.resource(KindRef(GroupVersionKind(group, version, kind)))
    return explain(await collect(world.client, ObjectReference(resource, name)))


def probe(port: int) -> dict[str, object]:
    how = {"tcpProbe": {"port": str(port)}, "schedule": {"interval": "100ms", "failureThreshold": 1}}
    return {"name": "up", "type": "TCP", **how}


async def test_the_crash_is_the_reason_and_not_the_probe_of_the_next_attempt(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        backoff = {"initial": "10ms", "max": "10ms"}
        (port,) = free_ports(1)
        await world.python(
            "web", CRASHES, restartPolicy="OnFailure", restartBackoff=backoff, healthProbes=[probe(port)]
        )
        await world.ready("Executable", "web", "False", "ProbeFailed")
        found = await why(world, "Executable", "web")
        crash = "the process ended with exit code 1; last output: no database (restarted 1\N{MULTIPLICATION SIGN}, "
        assert found.headline.startswith(f"web is not ready: {crash}")
        assert any("refused" in text for text in found.details)


async def test_the_probe_of_an_ended_process_is_not_its_reason(tmp_path: Path) -> None:
    code = "import os, time\nwhile not os.path.exists('end'): time.sleep(0.01)\nraise SystemExit('broken')"
    async with app(tmp_path) as world:
        (port,) = free_ports(1)
        await world.python("web", code, healthProbes=[probe(port)])
        await world.ready("Executable", "web", "False", "ProbeFailed")
        (tmp_path / "end").touch()
        await world.state("Executable", "web", "Finished")
        found = await why(world, "Executable", "web")
        assert "the process ended with exit code 1; last output: broken" in found.headline
        assert "refused" not in found.headline


async def test_the_saved_file_is_named_for_replicas_too(tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    spec = {
        "executablePath": PYTHON,
        "args": ["-c", "import signal; signal.pause()"],
        "watch": {"paths": ["main.py"], "debounce": "10ms"},
    }
    async with app(tmp_path) as world:
        await world.make("ExecutableReplicaSet", "web", {"replicas": 2, "template": {"spec": spec}})
        await world.ready("ExecutableReplicaSet", "web")
        replicas = (await world.client.list(f"{GROUP}/Executable")).items
        names = [each["metadata"]["name"] for each in replicas]
        for name in names:
            await world.until("Executable", name, lambda tree: bool(condition_of(tree, "Watching")))
        (tmp_path / "main.py").write_text("changed")
        for name in names:
            await world.until(
                "Executable",
                name,
                lambda tree: tree["status"].get("restartReason") and tree["status"]["state"] == "Running",
            )
        found = await why(world, "ExecutableReplicaSet", "web")
        assert any(
            text.startswith("web.1 and web.2 were restarted") and text.endswith(": main.py changed")
            for text in found.details
        ), found.details


@pytest.mark.parametrize(
    ("path", "told"),
    [("status.exitCode", "because its process ended"), ("status.state", "because a requeue was due")],
)
def test_a_write_that_reports_the_end_of_a_process_names_it_as_the_trigger(path: str, told: str) -> None:
    place: Any = None
    write = Revision(
        place, 5, "MODIFIED", datetime(2026, 1, 1, tzinfo=UTC), Actor("me"), None, (FieldChange(path, new=3),)
    )
    assert _trigger_text(Link(write, ((Reason("requeue"), None),))) == told
