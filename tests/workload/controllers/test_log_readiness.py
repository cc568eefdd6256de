"""Readiness by a line of the output: for each replica by itself, and for each attempt anew."""

from functools import partial
from pathlib import Path

from tests.workload.app import GROUP, App, app, condition_of

from setpoint.objects import meta
from setpoint.objects.tree import Object

RESTART = "setpoint.dev/restart-requested-at"
PROBE: Object = {
    "name": "up",
    "type": "Log",
    "schedule": {"interval": "50ms"},
    "logProbe": {"pattern": "^listening$"},
}
SAYS = "import os, time; os.path.exists('quiet') or print('listening', flush=True); time.sleep(600)"
# Prints much more than the log keeps.
TALKS = "import time; print('x\\n' * 20000, flush=True); print('listening', flush=True); time.sleep(600)"


async def replicas(world: App) -> list[Object]:
    return [item for item in (await world.client.list(f"{GROUP}/Executable")).items if meta.owner_references(item)]


async def test_a_replica_that_prints_no_line_is_not_ready(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {"executablePath": "python3", "args": ["-c", SAYS], "healthProbes": [PROBE]}
        await world.make("ExecutableReplicaSet", "api", {"replicas": 2, "template": {"spec": spec}})
        await world.ready("ExecutableReplicaSet", "api")
        (tmp_path / "quiet").touch()
        first, second = [meta.name(each) for each in await replicas(world)]
        await world.patch("Executable", first, metadata={"annotations": {RESTART: "1"}})
        await world.until("Executable", first, lambda tree: tree["status"].get("restartCount") == 1)
        await world.ready("Executable", first, "False", "ProbeFailed")
        await world.ready("Executable", second)
        found = await world.until(
            "ExecutableReplicaSet", "api", lambda tree: condition_of(tree, "Ready").get("status") == "False"
        )
        assert condition_of(found, "Ready")["message"].startswith("1 of 2 replicas are ready")


async def test_the_line_is_found_although_the_log_has_dropped_old_files(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        limits = {"maxBytes": 4096, "maxFiles": 1}
        await world.python("web", TALKS, healthProbes=[PROBE], logs=limits)
        await world.ready("Executable", "web")
        for number in (1, 2):
            await world.patch("Executable", "web", metadata={"annotations": {RESTART: str(number)}})
            await world.until("Executable", "web", partial(_restarted, times=number))
            await world.ready("Executable", "web")


def _restarted(tree: Object, times: int) -> bool:
    return bool(tree["status"].get("restartCount") == times)
