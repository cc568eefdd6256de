"""The end of everything that runs: in order, in time, and with nothing new meanwhile."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from tests.workload.admin.asking import execution, patched
from tests.workload.app import GROUP, WAITS, App, app, gone
from tests.workload.controllers.ship import asked, made, scripted, ship, until

from setpoint.objects.errors import Invalid, NotFound
from setpoint.plane import PlaneError
from setpoint.workload.shutdown import TIMEOUT_SECONDS, timeout_seconds

# Prints a line when it can be asked to end, and then writes its name to a file.
TELLS = """
import signal, sys
def end(*_):
    with open("ended", "a") as file:
        print(sys.argv[1], file=file)
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True: signal.pause()
"""


async def _cleaned(world: App) -> Any:
    while (found := await execution(world))["status"] != "CleanupComplete":
        await asyncio.sleep(0.01)
    return found


async def test_everything_is_deleted_each_before_what_it_depends_on(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        for name, needs in (("db", []), ("api", ["db"]), ("web", ["api"])):
            depends = [{"kind": "Executable", "name": other, "condition": "Started"} for other in needs]
            await world.python(name, TELLS, args=[name], dependsOn=depends)
        await world.make("Service", "front", {})
        pids = [(await world.state("Executable", name, "Running"))["status"]["pid"] for name in ("db", "api", "web")]
        for name in ("db", "api", "web"):
            await world.first_line(name)
        assert (await patched(world, "CleaningResources"))[0] == 202
        found = await _cleaned(world)
        assert (tmp_path / "ended").read_text().split() == ["web", "api", "db"]
        for pid in pids:
            await gone(pid)
        for kind in ("Executable", "Service", "Endpoint"):
            assert (await world.client.list(f"{GROUP}/{kind}")).items == []
        assert found["progress"] == {"objects": 4, "gone": 4, "going": [], "left": []}


async def test_nothing_new_is_made_meanwhile_but_what_is_there_may_change(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("held", finalizers=["example.com/held"])
        await patched(world, "CleaningResources")
        with pytest.raises(Invalid, match="shutting down") as refused:
            await world.python("late")
        (cause,) = refused.value.causes
        assert (cause.reason, cause.field) == ("FieldValueForbidden", "metadata")
        with pytest.raises(Invalid, match="shutting down"):
            await world.client.create(
                {
                    "apiVersion": "setpoint.dev/v1",
                    "kind": "Task",
                    "metadata": {"name": "late"},
                    "spec": {"template": {"executable": {"executablePath": "/bin/true"}}},
                }
            )
        await world.client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "default"}}
        )
        await world.patch("Executable", "held", metadata={"finalizers": []})
        assert (await _cleaned(world))["progress"]["gone"] == 1


async def test_a_control_plane_beside_one_that_ends_takes_new_objects(tmp_path: Path) -> None:
    async with app(tmp_path / "one") as one, app(tmp_path / "two") as two:
        await patched(one, "CleaningResources")
        await two.make("Service", "web", {})
        with pytest.raises(Invalid):
            await one.make("Service", "web", {})


async def test_what_cannot_go_is_named_and_keeps_nobody_else_from_going(tmp_path: Path) -> None:
    environ = {**os.environ, "DCP_SHUTDOWN_TIMEOUT_SECONDS": "1"}
    async with app(tmp_path, environ=environ) as world:
        await world.python("stuck", finalizers=["example.com/held"])
        await world.make("Service", "stuck-too", {}, finalizers=["example.com/held"])
        pid = (await world.state("Executable", "stuck", "Running"))["status"]["pid"]
        await world.make("ContainerNetworkConnection", "free", {"containerNetworkName": "n", "containerID": "c"})
        await patched(world, "CleaningResources")
        progress = (await _cleaned(world))["progress"]
        assert sorted(each.partition(":")[0] for each in progress["left"]) == ["Executable stuck", "Service stuck-too"]
        assert "example.com/held" in progress["left"][0]
        await gone(pid)
        with pytest.raises(NotFound):
            await world.get("ContainerNetworkConnection", "free")
        for kind, name in (("Executable", "stuck"), ("Service", "stuck-too")):
            await world.patch(kind, name, metadata={"finalizers": []})


async def test_asked_to_end_without_a_clean_up_it_ends_at_once_and_its_processes_with_it(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web")
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        ended = asyncio.ensure_future(world.plane.ended())
        await patched(world, "Stopping", shutdownResourceCleanup="None")
        await ended
        assert (await world.get("Executable", "web"))["status"]["state"] == "Running"
    await gone(pid)


async def test_whoever_asks_for_the_end_during_a_clean_up_waits_for_that_one(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("held", WAITS, finalizers=["example.com/held"])
        ended = asyncio.ensure_future(world.plane.ended())
        await patched(world, "CleaningResources")
        await patched(world, "Stopping")
        await asyncio.sleep(0.05)
        assert not ended.done()
        await world.patch("Executable", "held", metadata={"finalizers": []})
        await ended
        assert (await execution(world))["progress"]["objects"] == 1


async def test_workloads_that_cannot_be_run_are_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("no guardian today")

    monkeypatch.setattr("setpoint.workload.process.processes.Processes.sweep", fails)
    async with app(tmp_path) as world:
        with pytest.raises(PlaneError, match="cannot run workloads: RuntimeError: no guardian today"):
            await world.plane.ended()


def test_the_time_for_it_is_what_the_environment_says_if_that_is_one() -> None:
    assert timeout_seconds({"DCP_SHUTDOWN_TIMEOUT_SECONDS": "7"}) == 7.0
    for text in ("", "soon", "-1", "0"):
        assert timeout_seconds({"DCP_SHUTDOWN_TIMEOUT_SECONDS": text}) == TIMEOUT_SECONDS


async def test_a_pull_of_minutes_is_given_up_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    engine = scripted()
    engine.offer("far:1")
    engine.delay("images.pull", 600)
    async with ship(tmp_path, engine) as world:
        await made(world, "pulled", image="far:1")
        await until(lambda: asked(engine, "images.pull"))
        await made(world, "beside")
        await world.state("Container", "beside", "Running")
        await patched(world, "CleaningResources")
        async with asyncio.timeout(10):
            assert (await _cleaned(world))["progress"] == {"objects": 2, "gone": 2, "going": [], "left": []}
        assert not engine.containers
