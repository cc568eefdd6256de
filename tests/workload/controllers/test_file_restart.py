"""`spec.watch`, and who is started again with whom, with real processes and files."""

import asyncio
from pathlib import Path

from tests.workload.app import GROUP, PYTHON, WAITS, App, app, condition_of
from tests.workload.controllers.ship import made, only, scripted, ship

from setpoint.objects.tree import Object


async def started_again(world: App, name: str, times: int, kind: str = "Executable") -> Object:
    """The object, once it was started again so often and runs."""

    def holds(tree: Object) -> bool:
        status = tree.get("status") or {}
        return status.get("restartCount", 0) == times and status.get("state") == "Running"

    found: Object = await world.until(kind, name, holds)
    return found


async def watched(world: App, name: str, reason: str = "Watching") -> Object:
    found: Object = await world.until(
        "Executable", name, lambda tree: condition_of(tree, "Watching").get("reason") == reason
    )
    return found


async def test_a_changed_file_starts_a_process_again_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "app" / "src").mkdir(parents=True)
    watch = {"paths": ["src"], "debounce": "20ms"}
    async with app(tmp_path) as world:
        await world.python("web", workingDirectory="app", watch=watch)
        await watched(world, "web")
        pid = (await world.state("Executable", "web", "Running"))["status"]["pid"]
        (tmp_path / "app" / "src" / "main.py").touch()
        found = await started_again(world, "web", 1)
        assert found["status"]["pid"] != pid
        assert found["status"]["restartReason"] == "src/main.py changed"
        assert "src/main.py changed" in await world.log("web", source="system")


async def test_one_that_has_failed_is_started_again_when_its_file_is_mended(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("1/0")
    async with app(tmp_path) as world:
        await world.python("web", "exec(open('main.py').read())", watch={"paths": ["main.py"], "debounce": "20ms"})
        await watched(world, "web")
        await world.state("Executable", "web", "Finished")
        (tmp_path / "main.py").write_text(WAITS)
        found = await started_again(world, "web", 1)
        assert found["status"]["restartReason"] == "main.py changed"


async def test_one_that_was_stopped_stays_so(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", watch={"paths": ["a"], "debounce": "1ms"})
        await world.python("other", watch={"paths": ["a"], "debounce": "20ms"})
        for name in ("web", "other"):
            await watched(world, name)
            await world.state("Executable", name, "Running")
        await world.patch("Executable", "web", spec={"stop": True})
        await world.state("Executable", "web", "Finished")
        (tmp_path / "a").touch()
        await started_again(world, "other", 1)
        found = await world.get("Executable", "web")
        assert found["status"]["state"] == "Finished"
        assert "restartCount" not in found["status"]


async def test_a_pattern_that_cannot_be_read_is_a_condition(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("web", watch={"paths": ["src"], "ignore": ["[z-a]"]})
        found = await watched(world, "web", "InvalidPattern")
        assert "correct the pattern" in condition_of(found, "Watching")["message"]
        # It is watched as soon as it can be.
        await world.patch("Executable", "web", spec={"watch": {"ignore": []}})
        await watched(world, "web")


async def test_those_who_ask_for_it_are_started_again_with_what_they_depend_on(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.python("base", watch={"paths": ["a"], "debounce": "10ms"})
        await world.python("web", dependsOn=[{"kind": "Executable", "name": "base", "restart": True}])
        await world.python("front", dependsOn=[{"kind": "Executable", "name": "web", "restart": True}])
        await world.python("other", dependsOn=[{"kind": "Executable", "name": "base"}])
        await watched(world, "base")
        for name in ("base", "web", "front", "other"):
            await world.ready("Executable", name)
        (tmp_path / "a").touch()
        for name in ("base", "web", "front"):
            await started_again(world, name, 1)
        assert "Executable base was restarted" in await world.log("web", source="system")
        assert "restartCount" not in (await world.get("Executable", "other"))["status"]


async def test_those_who_depend_on_replicas_are_started_again_with_them_and_wait_until_all_are_back(
    tmp_path: Path,
) -> None:
    async with app(tmp_path) as world:
        template = {"executablePath": PYTHON, "args": ["-c", WAITS], "watch": {"paths": ["a"], "debounce": "10ms"}}
        await world.make("ExecutableReplicaSet", "base", {"replicas": 2, "template": {"spec": template}})
        depends = [{"kind": "ExecutableReplicaSet", "name": "base", "restart": True}]
        await world.python("web", dependsOn=depends)
        later = {"executablePath": PYTHON, "args": ["-c", WAITS], "dependsOn": depends}
        await world.make("ExecutableReplicaSet", "front", {"replicas": 2, "template": {"spec": later}})
        await world.ready("Executable", "web")
        await world.ready("ExecutableReplicaSet", "front")
        names = {tree["metadata"]["name"] for tree in (await world.client.list(f"{GROUP}/Executable")).items}
        for name in names:
            if name.startswith("base-"):
                await watched(world, name)
        (tmp_path / "a").touch()
        for name in names:
            await started_again(world, name, 1)
        await world.ready("Executable", "web")
        assert "ExecutableReplicaSet base was restarted" in await world.log("web", source="system")


async def test_many_changes_at_once_are_one_restart(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    async with app(tmp_path) as world:
        await world.python("web", watch={"paths": ["src"], "debounce": "150ms"})
        await watched(world, "web")
        await world.state("Executable", "web", "Running")
        for number in range(100):
            (tmp_path / "src" / str(number)).touch()
            if number % 20 == 0:
                await asyncio.sleep(0.01)
        await started_again(world, "web", 1)
        assert "and 99 more changed" in await world.log("web", source="system")


async def test_a_changed_file_starts_a_container_again_also_one_that_has_ended(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        await made(world, watch={"paths": ["conf"], "debounce": "10ms"})
        await started_again(world, "web", 0, "Container")
        await world.until("Container", "web", lambda tree: condition_of(tree, "Watching").get("status") == "True")
        (tmp_path / "conf").write_text("1")
        await started_again(world, "web", 1, "Container")
        assert "conf changed" in await world.log("web", "containers", source="system")
        engine.exit(only(engine).id, 3)
        await world.state("Container", "web", "Exited")
        (tmp_path / "conf").write_text("2")
        found = await started_again(world, "web", 2, "Container")
        assert found["status"]["restartReason"] == "conf changed"
