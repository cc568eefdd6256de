"""Workloads that are stopped for the time being, and start again: processes, replicas, containers, tasks."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from tests.workload.app import GROUP, PYTHON, WAITS, App, app, condition_of, gone
from tests.workload.controllers.ship import RESTART, made, only, running, scripted, ship

from setpoint.client.patches import merge
from setpoint.objects.tree import Object

TASK = "setpoint.dev/v1/Task"
SLOW = """
import signal, sys, time
def end(*_):
    time.sleep(0.3)
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
signal.pause()
"""


def is_done(request: str, tree: Any) -> bool:
    """Whether a task has done what was asked."""
    status = (tree or {}).get("status") or {}
    return status.get("observedRestart") == request and not status.get("active")


async def suspended(world: App, kind: str, name: str) -> Object:
    return await world.ready(kind, name, "False", "Suspended")


async def make_set(world: App, replicas: int = 2, **inner: Any) -> None:
    spec = {"executablePath": PYTHON, "args": ["-c", WAITS], **inner}
    rolling = {"updateStrategy": "RollingUpdate", "replicas": replicas, "template": {"spec": spec}}
    await world.make("ExecutableReplicaSet", "api", rolling)
    await world.ready("ExecutableReplicaSet", "api")


async def replicas(world: App) -> dict[str, Object]:
    found = (await world.client.list(f"{GROUP}/Executable")).items
    return {tree["metadata"]["name"]: tree for tree in found if "deletionTimestamp" not in tree["metadata"]}


async def test_a_process_that_is_suspended_ends_and_starts_again_when_it_is_not(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web")
        pid = (await world.ready("Executable", "web"))["status"]["pid"]
        await world.patch("Executable", "web", spec={"suspend": True})
        found = await suspended(world, "Executable", "web")
        await gone(pid)
        assert found["status"]["state"] == "Finished"
        assert "setpoint start web" in condition_of(found, "Ready")["message"]
        await world.patch("Executable", "web", spec={"suspend": False})
        assert (await world.ready("Executable", "web"))["status"]["pid"] != pid


async def test_one_that_was_suspended_before_it_started_has_not_begun(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", suspend=True)
        found = await suspended(world, "Executable", "web")
        assert found["status"].get("state", "") == ""
        await world.patch("Executable", "web", spec={"suspend": None})
        found = await world.ready("Executable", "web")
        assert found["status"].get("restartCount", 0) == 0


async def test_one_that_is_let_go_on_while_it_ends_starts_again(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", SLOW)
        await world.first_line("web")
        await world.patch("Executable", "web", spec={"suspend": True})
        await world.state("Executable", "web", "Stopping")
        await world.patch("Executable", "web", spec={"suspend": False})
        found = await world.until("Executable", "web", lambda tree: tree["status"].get("restartCount"))
        assert found["status"]["state"] in ("Starting", "Running")


async def test_one_that_waits_for_its_next_try_stays_down_while_it_is_suspended(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        again = {"restartPolicy": "OnFailure", "restartBackoff": {"initial": "50ms", "max": "50ms"}}
        await world.python("web", "import sys; sys.exit(3)", **again)
        await world.ready("Executable", "web", "False", "BackOff")
        await world.patch("Executable", "web", spec={"suspend": True})
        before = (await suspended(world, "Executable", "web"))["status"]
        await asyncio.sleep(0.2)
        after = (await world.get("Executable", "web"))["status"]
        assert after.get("restartCount") == before.get("restartCount")
        assert "nextRestartTime" not in after
        assert after["healthStatus"] == "Caution"


async def test_what_waits_for_the_end_of_another_waits_on_while_that_is_suspended(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("base")
        await world.ready("Executable", "base")
        await world.patch("Executable", "base", spec={"suspend": True})
        await suspended(world, "Executable", "base")
        await world.python("later", dependsOn=[{"kind": "Executable", "name": "base", "condition": "Finished"}])
        found = await world.ready("Executable", "later", "False", "WaitingForDependencies")
        assert "it is suspended" in condition_of(found, "Ready")["message"]


async def test_a_changed_file_does_not_start_what_is_suspended(tmp_path: Path) -> None:
    (tmp_path / "web.py").write_text("import signal; signal.pause()")
    async with app(tmp_path) as world:
        await world.python("web", watch={"paths": ["web.py"], "debounce": "10ms"})
        await world.ready("Executable", "web")
        await world.patch("Executable", "web", spec={"suspend": True})
        await suspended(world, "Executable", "web")
        (tmp_path / "web.py").write_text("import signal; signal.pause() # other")
        await asyncio.sleep(0.3)
        found = await world.get("Executable", "web")
        assert condition_of(found, "Ready")["reason"] == "Suspended"


async def test_a_request_for_a_restart_that_came_before_the_start_is_met_by_it(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", dependsOn=[{"kind": "Executable", "name": "base"}])
        await world.ready("Executable", "web", "False", "WaitingForDependencies")
        await world.patch("Executable", "web", metadata={"annotations": {RESTART: "1"}})
        await world.python("base")
        await world.until("Executable", "web", lambda tree: tree["status"].get("observedRestart") == "1")
        await asyncio.sleep(0.2)
        found = await world.ready("Executable", "web")
        assert found["status"].get("restartCount", 0) == 0


async def test_a_set_stops_and_starts_its_replicas_and_leaves_one_that_was_stopped_by_itself(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make_set(world, 2)
        first, second = await replicas(world)
        await world.patch("Executable", first, spec={"suspend": True})
        await suspended(world, "Executable", first)
        await world.patch("ExecutableReplicaSet", "api", spec={"suspend": True})
        await suspended(world, "ExecutableReplicaSet", "api")
        await suspended(world, "Executable", second)
        # Those that are made meanwhile do not run either.
        await world.patch("ExecutableReplicaSet", "api", spec={"replicas": 3})
        await world.until("ExecutableReplicaSet", "api", lambda tree: tree["status"].get("observedReplicas") == 3)
        [third] = (await replicas(world)).keys() - {first, second}
        await suspended(world, "Executable", third)
        await world.patch("ExecutableReplicaSet", "api", spec={"suspend": False})
        await world.ready("Executable", second)
        await world.ready("Executable", third)
        assert condition_of(await world.get("Executable", first), "Ready")["reason"] == "Suspended"
        await world.patch("Executable", first, spec={"suspend": False})
        await world.ready("ExecutableReplicaSet", "api")
        assert set(await replicas(world)) == {first, second, third}


async def test_a_new_template_comes_into_a_suspended_set_at_once(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await make_set(world, 2)
        before = set(await replicas(world))
        await world.patch("ExecutableReplicaSet", "api", spec={"suspend": True})
        await suspended(world, "ExecutableReplicaSet", "api")
        change = {"template": {"spec": {"env": [{"name": "NEW", "value": "1"}]}}}
        await world.patch("ExecutableReplicaSet", "api", spec=change)
        async with asyncio.timeout(10):
            while len(now := set(await replicas(world))) != 2 or before & now:
                await asyncio.sleep(0.01)
        await world.patch("ExecutableReplicaSet", "api", spec={"suspend": False})
        await world.ready("ExecutableReplicaSet", "api")


async def test_replicas_restart_one_after_the_other_when_their_set_is_asked_to(tmp_path: Path) -> None:
    """Each writes its life into a file when it starts and when it is asked to end: no two are down at once."""
    code = """
import os, signal, sys
def end(*_):
    open("lives", "a").write("-")
    sys.exit()
signal.signal(signal.SIGTERM, end)
open("lives", "a").write("+")
print("up", flush=True)
while True:
    signal.pause()
"""
    probe = {"name": "up", "type": "Log", "logProbe": {"pattern": "up"}, "schedule": {"interval": "20ms"}}
    async with app(tmp_path) as world:
        await make_set(world, 3, args=["-c", code], healthProbes=[probe])
        names = set(await replicas(world))
        await world.patch("ExecutableReplicaSet", "api", metadata={"annotations": {RESTART: "1"}})
        await world.until("ExecutableReplicaSet", "api", lambda tree: tree["status"].get("observedRestart") == "1")
        after = await replicas(world)
        assert {name: tree["status"]["restartCount"] for name, tree in after.items()} == dict.fromkeys(names, 1)
        assert (tmp_path / "lives").read_text() == "+++" + "-+" * 3


async def test_a_container_that_is_suspended_is_stopped_and_started_again(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        before = await running(world, restartPolicy="always")
        await world.patch("Container", "web", spec={"suspend": True})
        found = await suspended(world, "Container", "web")
        assert found["status"]["state"] == "Exited"
        assert not only(engine).is_running
        await world.patch("Container", "web", spec={"suspend": False})
        found = await world.ready("Container", "web")
        assert found["status"]["containerId"] == before["containerId"]


async def test_a_container_that_has_no_engine_can_be_suspended_and_starts_when_it_may_and_can(tmp_path: Path) -> None:
    engine = scripted()
    engine.is_up = False
    async with ship(tmp_path, engine) as world:
        await made(world)
        await world.ready("Container", "web", "False", "EngineNotRunning")
        await world.patch("Container", "web", spec={"suspend": True})
        await suspended(world, "Container", "web")
        engine.start()
        await world.python("later", dependsOn=[{"kind": "Container", "name": "web"}])
        await world.ready("Executable", "later", "False", "WaitingForDependencies")
        assert not engine.containers
        await world.patch("Container", "web", spec={"suspend": False})
        await world.ready("Executable", "later")


async def test_a_run_that_was_asked_for_says_which_request_it_is_for_and_gets_its_arguments(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:])"
    task = {"executablePath": PYTHON, "args": ["-c", code, "own"]}
    async with app(tmp_path) as world:
        tree = {"apiVersion": "setpoint.dev/v1", "kind": "Task", "metadata": {"name": "test"}}
        await world.client.create({**tree, "spec": {"template": {"executable": task}, "suspend": True}})
        found: Any = {}
        for request, given in (("one", '["-k", "{{ x }}"]'), ("two", None), ("three", "nonsense")):
            annotations = {RESTART: request, "setpoint.dev/run-arguments": given}
            await world.client.patch(TASK, merge({"metadata": {"annotations": annotations}}), "test")
            found = await world.client.wait_for(TASK, "test", until=partial(is_done, request), timeout=20)
        runs = {run["request"]: run for run in found["status"]["runs"]}
        assert set(runs) == {"one", "two"}
        assert await world.log(runs["one"]["name"]) == "['own', '-k', '{{ x }}']\n"
        assert await world.log(runs["two"]["name"]) == "['own']\n"
        ready = condition_of(found, "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "InvalidRequest")
