"""Tasks, with real processes: run to the end, tried again, stopped in time, by a schedule that a test's clock moves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import GROUP, PYTHON, WAITS, App, condition_of
from tests.workload.app import app as plain_app

import setpoint as sp
from setpoint.client.patches import merge
from setpoint.objects.clock import ManualClock
from setpoint.objects.tree import Object
from setpoint.workload.workloads import WorkloadSettings

OWN = "setpoint.dev/v1"
TASK = f"{OWN}/Task"
QUICK = {"initial": "10ms", "max": "20ms"}


async def make(world: App, code: str, name: str = "job", executable: Object | None = None, **spec: Any) -> Object:
    program = {"executablePath": PYTHON, "args": ["-c", code], "restartBackoff": QUICK, **(executable or {})}
    tree = {"apiVersion": OWN, "kind": "Task", "metadata": {"name": name}}
    return await world.client.create({**tree, "spec": {"template": {"executable": program}, **spec}})


async def until(world: App, holds: Callable[[Object], Any], name: str = "job") -> Object:
    """The task, as soon as something holds of its status. On real time: a test's clock would never end the wait."""
    found: Object = {}

    def check(tree: Any) -> bool:
        nonlocal found
        found = tree
        return bool(tree is not None and holds(tree.get("status") or {}))

    try:
        async with asyncio.timeout(20):
            await world.client.wait_for(TASK, name, until=check)
    except TimeoutError:
        raise AssertionError(f"task {name} is still: {found.get('status')}") from None
    return found


async def ended(world: App, name: str = "job") -> Object:
    return await until(world, lambda status: status.get("state") in ("Succeeded", "Failed"), name)


async def attempts(world: App) -> list[Object]:
    return list((await world.client.list(f"{GROUP}/Executable")).items)


async def test_a_task_runs_once_to_its_end_and_keeps_its_log(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "print('done')")
        found = await ended(world)
        (run,) = found["status"]["runs"]
        assert (run["state"], run["exitCode"], run["attempts"]) == ("Succeeded", 0, 1)
        assert found["status"]["lastSuccessTime"] == run["finishTime"]
        assert condition_of(found, "Ready")["status"] == condition_of(found, "Succeeded")["status"] == "True"
        assert await world.log(run["name"]) == "done\n"
        (attempt,) = await attempts(world)
        assert attempt["metadata"]["ownerReferences"][0]["kind"] == "Task"
        # A change of the task does not run it again.
        await world.client.patch(TASK, merge({"spec": {"backoffLimit": 2}}), "job")
        await until(world, lambda status: status.get("observedGeneration") == 2)
        assert len(await attempts(world)) == 1


async def test_one_that_fails_is_tried_again_as_often_as_it_may_be(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "import sys; sys.exit('no database')", backoffLimit=2)
        found = await ended(world)
        (run,) = found["status"]["runs"]
        assert (run["state"], run["exitCode"], run["attempts"]) == ("Failed", 1, 3)
        assert condition_of(found, "Succeeded")["status"] == "False"
        assert "no database" in condition_of(found, "Ready")["message"]
        assert len(await attempts(world)) == 3
        # Also one that gets well.
        code = "import os, sys; os.path.exists('second') or (open('second', 'w'), sys.exit(1))"
        await make(world, code, "again", backoffLimit=5)
        (run,) = (await ended(world, "again"))["status"]["runs"]
        assert (run["state"], run["attempts"]) == ("Succeeded", 2)


async def test_one_that_cannot_start_has_failed_and_says_why(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "", executable={"executablePath": "pyton3"})
        found = await ended(world)
        assert found["status"]["state"] == "Failed"
        assert "python3" in condition_of(found, "Ready")["message"]


async def test_one_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, WAITS, activeDeadline="1s", backoffLimit=3)
        found = await ended(world)
        assert condition_of(found, "Succeeded")["reason"] == "DeadlineExceeded"
        assert found["status"]["runs"][0]["attempts"] == 1
        (attempt,) = await attempts(world)
        # A busy machine may not even have started it by then.
        assert attempt["status"]["state"] in ("Finished", "FailedToStart")


async def test_one_whose_process_somebody_stops_has_failed_and_is_not_tried_again(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, WAITS, backoffLimit=3)
        name = (await until(world, lambda status: status.get("runs")))["status"]["runs"][0]["name"]
        await world.state("Executable", name, "Running")
        await world.patch("Executable", name, spec={"stop": True})
        found = await ended(world)
        assert condition_of(found, "Succeeded")["reason"] == "Stopped"
        assert len(await attempts(world)) == 1


def has_attempts(number: int, status: Object) -> bool:
    return any(run["attempts"] == number for run in status.get("runs", ()))


async def test_a_run_whose_object_is_deleted_counts_as_failed(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, WAITS, backoffLimit=1)
        for number in (1, 2):
            found = await until(world, partial(has_attempts, number))
            name = found["status"]["runs"][0]["name"]
            await world.state("Executable", name, "Running")
            await world.delete("Executable", name)
        found = await ended(world)
        assert "was deleted" in condition_of(found, "Succeeded")["message"]


async def test_it_waits_for_others_and_others_for_it(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await world.python("web", dependsOn=[{"kind": "Task", "name": "job"}])
        await make(
            world,
            "open('migrated', 'w')",
            dependsOn=[{"kind": "Executable", "name": "base", "condition": "Succeeded"}],
        )
        found = await until(world, lambda status: status.get("state") == "Pending")
        assert condition_of(found, "Ready")["reason"] == "WaitingForDependencies"
        assert "Executable base to be Succeeded" in condition_of(found, "Ready")["message"]
        await world.python("base", "pass")
        await world.state("Executable", "web", "Running")
        assert (tmp_path / "migrated").exists()


async def test_another_run_can_be_asked_for(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "pass")
        await ended(world)
        change = {"metadata": {"annotations": {"setpoint.dev/restart-requested-at": "now"}}}
        await world.client.patch(TASK, merge(change), "job")
        found = await until(world, lambda status: len(status.get("runs", ())) == 2 and status["state"] == "Succeeded")
        assert len({run["name"] for run in found["status"]["runs"]}) == 2


async def test_a_task_whose_template_became_invalid_is_not_ready_though_its_last_run_succeeded(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "pass")
        done = await ended(world)
        annotations = {"setpoint.dev/restart-requested-at": "now"}
        template = {"labels": {"not a key!": "x"}}
        await world.client.patch(
            TASK, merge({"metadata": {"annotations": annotations}, "spec": {"template": template}}), "job"
        )
        found = await until(world, lambda status: _reason({"status": status}, "Ready") == "InvalidTemplate")
        ready = condition_of(found, "Ready")
        assert ready["status"] == "False"
        assert "metadata.labels" in ready["message"]
        assert found["status"]["state"] == "Succeeded"
        assert _reason(found, "Succeeded") == _reason(done, "Succeeded")


def _reason(tree: Object, condition: str) -> str:
    return str(condition_of(tree, condition).get("reason"))


async def test_what_is_deleted_ends_its_processes_first(tmp_path: Path) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, WAITS)
        name = (await until(world, lambda status: status.get("runs")))["status"]["runs"][0]["name"]
        pid = (await world.state("Executable", name, "Running"))["status"]["pid"]
        await world.client.delete(TASK, "job")
        await world.client.wait_for(TASK, "job", until=lambda tree: tree is None, timeout=20)
        assert not Path(f"/proc/{pid}").exists()


async def test_a_task_goes_on_where_an_earlier_control_plane_left_it(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'state.sqlite3'}"
    code = "import os, signal; open('ran', 'a').write('x'); os.path.exists('go') or signal.pause()"
    async with plain_app(tmp_path, store=store) as world:
        await make(world, "pass", "done")
        await ended(world, "done")
        await make(world, code)
        name = (await until(world, lambda status: status.get("runs")))["status"]["runs"][0]["name"]
        await world.state("Executable", name, "Running")
    (tmp_path / "go").touch()
    async with plain_app(tmp_path, store=store) as world:
        found = await ended(world)
        assert [run["name"] for run in found["status"]["runs"]] == [name]
        assert len((await ended(world, "done"))["status"]["runs"]) == 1
        assert len(await attempts(world)) == 2


# By the clock


class Timed(App):
    """A control plane whose time a test moves."""

    clock: ManualClock

    async def move(self, seconds: float) -> None:
        """Lets time pass, minute by minute, and what is due happen."""
        while seconds > 0:
            self.clock.advance(min(seconds, 30))
            seconds -= 30
            await self.settle()

    async def settle(self) -> None:
        for _ in range(200):
            await asyncio.sleep(0)

    async def runs(self, count: int, *states: str) -> list[Object]:
        """The runs of the task, as soon as there are so many, all in one of these states."""

        def holds(status: Object) -> bool:
            runs = status.get("runs", ())
            return len(runs) == count and all(run["state"] in states for run in runs)

        return list((await until(self, holds))["status"].get("runs", ()))


@asynccontextmanager
async def timed(directory: Path, start: str, store: str = "memory") -> AsyncIterator[Timed]:
    clock = ManualClock(datetime.fromisoformat(start).replace(tzinfo=UTC))
    settings = WorkloadSettings(directory / "run", working_directory=directory)
    async with sp.ControlPlane(store, workloads=settings, clock=clock) as plane, plane.client() as client:
        world = Timed(plane, client)
        world.clock = clock
        await plane.settle()
        yield world


def scheduled(runs: list[Object]) -> list[str]:
    return [run["scheduledTime"][11:16] for run in runs]


async def test_a_schedule_says_when_a_task_runs(tmp_path: Path) -> None:
    async with timed(tmp_path, "2030-01-01T10:00:10") as world:
        await make(world, "pass", schedule="*/10 * * * *", timeZone="Europe/Berlin", successfulHistoryLimit=2)
        found = await until(world, lambda status: status.get("nextScheduleTime"))
        assert found["status"]["state"] == "Pending"
        assert found["status"]["nextScheduleTime"] == "2030-01-01T10:10:00.000000Z"
        assert condition_of(found, "Ready")["reason"] == "Scheduled"
        await world.move(600)
        assert scheduled(await world.runs(1, "Succeeded")) == ["10:10"]
        await world.move(600)
        await world.runs(2, "Succeeded")
        await world.move(600)
        # Of those that succeeded two are kept, and of the others nothing.
        found = await until(world, lambda status: scheduled(status.get("runs", [])) == ["10:20", "10:30"])
        assert found["status"]["lastScheduleTime"] == "2030-01-01T10:30:00.000000Z"
        await until_attempts(world, 2)


async def until_attempts(world: App, count: int) -> None:
    async with asyncio.timeout(20):
        while len(await attempts(world)) != count:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("policy", "states", "names"),
    [
        ("Forbid", ("Running",), ["10:01"]),
        ("Allow", ("Running",), ["10:01", "10:02"]),
        ("Replace", ("Running", "Failed"), ["10:01", "10:02"]),
    ],
)
async def test_what_happens_when_a_run_is_due_while_another_is_under_way(
    tmp_path: Path, policy: str, states: tuple[str, ...], names: list[str]
) -> None:
    async with timed(tmp_path, "2030-01-01T10:00:30") as world:
        await make(world, WAITS, schedule="* * * * *", concurrencyPolicy=policy)
        await until(world, lambda status: status.get("nextScheduleTime"))
        await world.move(30)
        await world.runs(1, "Running")
        (first,) = await attempts(world)
        await running(world, first["metadata"]["name"])
        await world.move(60)
        assert scheduled(await world.runs(len(names), *states)) == names
        found = await until(world, lambda status: status["lastScheduleTime"] == "2030-01-01T10:02:00.000000Z")
        assert found["status"]["active"] == (2 if policy == "Allow" else 1)
        if policy == "Replace":
            assert found["status"]["runs"][0]["message"] == "the next run was due"


async def running(world: App, name: str) -> None:
    async with asyncio.timeout(20):
        await world.client.wait_for(
            f"{GROUP}/Executable", name, until=lambda tree: (tree.get("status") or {}).get("state") == "Running"
        )


async def test_of_runs_that_were_missed_the_last_one_is_made_up_for(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'state.sqlite3'}"
    async with timed(tmp_path, "2030-01-01T10:00:30", store) as world:
        await make(world, "pass", schedule="0 * * * *")
        await until(world, lambda status: status.get("nextScheduleTime"))
    async with timed(tmp_path, "2030-01-01T13:20:00", store) as world:
        assert scheduled(await world.runs(1, "Succeeded")) == ["13:00"]
        found = await until(world, lambda status: status.get("nextScheduleTime") == "2030-01-01T14:00:00.000000Z")
        assert found["status"]["lastScheduleTime"] == "2030-01-01T13:00:00.000000Z"


@pytest.mark.parametrize("policy", ["Forbid", "Allow", "Replace"])
async def test_a_run_that_was_begun_and_not_noted_is_not_begun_again(tmp_path: Path, policy: str) -> None:
    async with timed(tmp_path, "2030-01-01T10:00:30") as world:
        await make(world, WAITS, schedule="* * * * *", concurrencyPolicy=policy)
        await until(world, lambda status: status.get("nextScheduleTime"))
        await world.move(30)
        await world.runs(1, "Running")
        # As if the control plane had been killed after it made the object.
        forgotten = {"status": {"lastScheduleTime": None, "runs": None, "state": "Pending"}}
        await world.client.patch(TASK, merge(forgotten), "job", subresource="status")
        found = await until(world, lambda status: status.get("lastScheduleTime") and status.get("runs"))
        assert [(run["state"], run["attempts"]) for run in found["status"]["runs"]] == [("Running", 1)]
        assert len(await attempts(world)) == 1


async def test_nothing_runs_while_it_is_suspended_and_nothing_is_made_up_for(tmp_path: Path) -> None:
    async with timed(tmp_path, "2030-01-01T10:00:30") as world:
        await make(world, "pass", schedule="*/5 * * * *", suspend=True)
        found = await until(world, lambda status: status.get("conditions"))
        assert condition_of(found, "Ready")["reason"] == "Suspended"
        await world.move(600)
        await until(world, lambda status: status.get("lastScheduleTime") == "2030-01-01T10:10:00.000000Z")
        assert not await attempts(world)
        await world.client.patch(TASK, merge({"spec": {"suspend": False}}), "job")
        await until(world, lambda status: status.get("observedGeneration") == 2)
        await world.move(300)
        assert scheduled(await world.runs(1, "Succeeded")) == ["10:15"]


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"schedule": "* * *"}, "InvalidSchedule", "five fields"),
        ({"schedule": "@daily", "timeZone": "Mars/Base"}, "InvalidSchedule", "Mars/Base"),
        ({"schedule": "0 0 30 2 *"}, "NeverDue", "correct spec.schedule"),
    ],
)
async def test_a_schedule_that_cannot_be_followed_is_a_condition_with_the_remedy(
    tmp_path: Path, spec: dict[str, Any], reason: str, message: str
) -> None:
    async with plain_app(tmp_path) as world:
        await make(world, "pass", **spec)
        found = await until(world, lambda status: status.get("conditions"))
        condition = condition_of(found, "Ready")
        assert (condition["status"], condition["reason"]) == ("False", reason)
        assert message in condition["message"]
        # It is followed as soon as it can be.
        await world.client.patch(TASK, merge({"spec": {"schedule": "@every 1s", "timeZone": "UTC"}}), "job")
        await until(world, lambda status: status.get("state") == "Succeeded")
