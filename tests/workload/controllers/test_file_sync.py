"""`spec.fileActions` with a real engine: copies of files into containers, removals, restarts and commands."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.workload.app import App, condition_of
from tests.workload.controllers.ship import logged
from tests.workload.controllers.test_podman_workloads import shell, ship
from tests.workload.podman import IMAGE, Service

from setpoint.objects.tree import Object
from setpoint.workload.controllers.container.container_health import execute_in
from setpoint.workload.engine.engine import Engine

pytestmark = pytest.mark.slow


def sync(path: str, target: str, **fields: Any) -> Object:
    return {"path": path, "target": target, "action": "Sync", "initialSync": True, "debounce": "20ms", **fields}


async def inside(engine: Engine, tree: Object, script: str) -> str:
    """Returns the output of a script in the container."""
    code, output = await execute_in(engine, tree["status"]["containerId"], ["sh", "-c", script], "/")
    return output if code == 0 else f"exit code {code}: {output}"


async def shows(engine: Engine, tree: Object, script: str, expected: str) -> None:
    """Waits until a script in the container prints a text."""
    async with asyncio.timeout(20):
        while await inside(engine, tree, script) != expected:
            await asyncio.sleep(0.05)


async def until_synced(world: App, name: str, holds: Callable[[Object], bool]) -> Object:
    found: Object = await world.until(
        "Container", name, lambda tree: holds((tree.get("status") or {}).get("sync") or {})
    )
    return found


async def test_all_files_are_there_when_the_program_starts_and_changes_follow(tmp_path: Path, podman: Service) -> None:
    source = tmp_path / "src"
    (source / "deep").mkdir(parents=True)
    (source / "main.sh").write_text("echo one")
    (source / "main.sh").chmod(0o755)
    (source / "deep" / "a.txt").write_text("a")
    (source / "deep" / "b.tmp").write_text("b")
    (source / "node_modules").mkdir()
    (source / "node_modules" / "big").write_text("big")
    os.symlink("deep/a.txt", source / "link")
    script = "/app/src/main.sh; trap exit TERM; while true; do sleep 0.1; done"
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "web", script, fileActions=[sync("src", "/app/src", ignore=["*.tmp"])])
        tree = await world.ready("Container", "web")
        await logged(world, "web", "one\n")
        listing = "cd /app/src && find . -type f -o -type l | sort"
        assert await inside(engine, tree, listing) == "./deep/a.txt\n./link\n./main.sh"
        assert tree["status"]["sync"]["files"] == 3
        (source / "deep" / "a.txt").write_text("changed")
        await shows(engine, tree, "cat /app/src/link", "changed")
        (source / "new").mkdir()
        (source / "new" / "c.txt").write_text("c")
        await shows(engine, tree, "cat /app/src/new/c.txt", "c")
        (source / "deep" / "a.txt").unlink()
        await shows(engine, tree, listing, "./link\n./main.sh\n./new/c.txt")
        tree = await until_synced(world, "web", lambda counts: counts.get("removed", 0) == 1)
        assert tree["status"]["sync"]["files"] == 5
        assert condition_of(tree, "Synced")["reason"] == "Watching"
        assert tree["status"].get("restartCount", 0) == 0
        assert "src/deep/a.txt copied to /app/src" in await world.log("web", "containers", source="system")


async def test_a_restart_keeps_the_files_and_brings_those_that_changed_meanwhile(
    tmp_path: Path, podman: Service
) -> None:
    (tmp_path / "a").write_text("1")
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "web", fileActions=[sync("a", "/data/a", initialSync=False)])
        tree = await world.ready("Container", "web")
        assert "exit code" in await inside(engine, tree, "cat /data/a")
        (tmp_path / "a").write_text("2")
        await shows(engine, tree, "cat /data/a", "2")
        await world.patch("Container", "web", spec={"suspend": True})
        await world.until("Container", "web", lambda tree: condition_of(tree, "Ready").get("reason") == "Suspended")
        (tmp_path / "a").write_text("3")
        await world.patch("Container", "web", spec={"suspend": None})
        tree = await world.ready("Container", "web")
        await shows(engine, tree, "cat /data/a", "3")


async def test_a_sync_can_restart_the_container_or_run_a_command(tmp_path: Path, podman: Service) -> None:
    (tmp_path / "conf").write_text("1")
    (tmp_path / "page").write_text("1")
    command = {"command": ["sh", "-c", "cat /page > $PLACE; exit 3"], "env": [{"name": "PLACE", "value": "/seen"}]}
    actions = [
        sync("conf", "/conf", action="SyncAndRestart"),
        sync("page", "/page", action="SyncAndExec", exec=command),
    ]
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "web", fileActions=actions)
        tree = await world.ready("Container", "web")
        assert await inside(engine, tree, "test -e /seen || echo none") == "none"
        (tmp_path / "page").write_text("2")
        await shows(engine, tree, "cat /seen", "2")
        tree = await world.until(
            "Container", "web", lambda tree: condition_of(tree, "Synced").get("reason") == "ExecFailed"
        )
        assert "exit code 3" in condition_of(tree, "Synced")["message"]
        (tmp_path / "conf").write_text("2")
        tree = await world.until(
            "Container",
            "web",
            lambda tree: (tree["status"].get("restartCount"), tree["status"]["state"]) == (1, "Running"),
        )
        assert tree["status"]["restartReason"] == "conf changed"
        assert await inside(engine, tree, "cat /conf") == "2"


async def test_files_belong_to_the_user_of_the_container(tmp_path: Path, podman: Service) -> None:
    (tmp_path / "a").write_text("1")
    async with ship(tmp_path, podman) as (world, engine):
        await shell(world, "web", user="1234:77", fileActions=[sync("a", "/tmp/a")])
        tree = await world.ready("Container", "web")
        assert await inside(engine, tree, "stat -c %u:%g /tmp/a") == "1234:77"


async def test_too_large_files_are_refused_with_a_remedy(tmp_path: Path, podman: Service) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(257 << 20)
    async with ship(tmp_path, podman) as (world, _):
        await shell(world, "web", fileActions=[sync("huge", "/huge")])
        tree = await world.state("Container", "web", "FailedToStart")
        assert "ignore or mount the file" in condition_of(tree, "Ready")["message"]


async def test_a_restart_rule_and_a_rebuild_rule_coexist(tmp_path: Path, podman: Service) -> None:
    actions = [
        {"path": "settings", "action": "Restart", "include": ["*.ini"], "debounce": "20ms"},
        {"path": "context", "action": "Rebuild", "debounce": "20ms"},
    ]
    for name in ("settings", "context"):
        (tmp_path / name).mkdir()
    (tmp_path / "context" / "word").write_text("one\n")
    script = "cat /word; trap exit TERM; while true; do sleep 0.1; done"
    (tmp_path / "context" / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY word /word\n")
    spec = {"build": {"context": "context"}, "command": "sh", "args": ["-c", script], "fileActions": actions}
    async with ship(tmp_path, podman) as (world, _):
        await world.make("Container", "web", spec)
        first = await world.ready("Container", "web")
        await world.until("Container", "web", lambda tree: bool(condition_of(tree, "Synced")))
        (tmp_path / "settings" / "x.txt").touch()
        (tmp_path / "settings" / "x.ini").touch()
        tree = await world.until("Container", "web", lambda tree: tree["status"].get("restartCount", 0) == 1)
        assert tree["status"]["restartReason"] == "settings/x.ini changed"
        tree = await world.ready("Container", "web")
        assert tree["status"]["containerId"] == first["status"]["containerId"]
        (tmp_path / "context" / "word").write_text("two\n")
        tree = await world.until("Container", "web", lambda tree: tree["status"].get("restartCount", 0) == 2)
        assert tree["status"]["restartReason"] == "context/word changed"
        tree = await world.ready("Container", "web")
        assert tree["status"]["containerId"] != first["status"]["containerId"]
        await logged(world, "web", "one\none\ntwo\n")
