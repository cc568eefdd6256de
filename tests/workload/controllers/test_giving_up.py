"""`maxRestarts`: what fails again and again is left alone at last, until somebody does something about it."""

from pathlib import Path

from tests.workload.app import PYTHON, app, condition_of
from tests.workload.controllers.ship import RESTART, running, scripted, ship

QUICK = {"initial": "10ms", "max": "10ms"}


async def test_what_fails_too_often_in_a_row_stays_failed_until_a_restart_is_asked_for(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        code = "import sys; sys.exit('no database')"
        await world.python("web", code, restartPolicy="OnFailure", restartBackoff=QUICK, maxRestarts=2)
        found = await world.ready("Executable", "web", "False", "TooManyRestarts")
        assert (found["status"]["state"], found["status"]["restartCount"]) == ("Finished", 2)
        message = condition_of(found, "Ready")["message"]
        assert message.startswith("the process ended with exit code 1; last output: no database; ")
        assert "2 times in a row" in message
        await world.patch("Executable", "web", metadata={"annotations": {RESTART: "1"}})
        found = await world.until("Executable", "web", lambda tree: tree["status"].get("restartCount") == 5)
        found = await world.ready("Executable", "web", "False", "TooManyRestarts")
        assert found["status"]["restartCount"] == 5


async def test_a_life_that_was_long_enough_begins_a_new_row(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        backoff = {**QUICK, "resetAfter": "1ms"}
        await world.python(
            "web", "import sys; sys.exit(1)", restartPolicy="Always", restartBackoff=backoff, maxRestarts=1
        )
        await world.until("Executable", "web", lambda tree: (tree.get("status") or {}).get("restartCount", 0) >= 4)


async def test_what_cannot_be_started_is_not_tried_for_ever(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        spec = {"executablePath": "no-such-program", "restartPolicy": "OnFailure", "restartBackoff": QUICK}
        await world.make("Executable", "web", {**spec, "maxRestarts": 2})
        found = await world.ready("Executable", "web", "False", "TooManyRestarts")
        assert (found["status"]["state"], found["status"]["restartCount"]) == ("FailedToStart", 2)
        await world.make("Executable", "once", {**spec, "maxRestarts": 0})
        found = await world.ready("Executable", "once", "False", "TooManyRestarts")
        assert found["status"].get("restartCount", 0) == 0


async def test_what_its_probe_finds_dead_is_given_up_as_well(tmp_path: Path) -> None:
    probe = {
        "name": "alive",
        "type": "Exec",
        "role": "Liveness",
        "execProbe": {"command": [PYTHON, "-c", "import sys; sys.exit(1)"]},
        "schedule": {"interval": "10ms"},
    }
    async with app(tmp_path) as world:
        await world.python("web", healthProbes=[probe], restartBackoff=QUICK, maxRestarts=1)
        found = await world.ready("Executable", "web", "False", "TooManyRestarts")
        assert "the liveness probe alive failed" in condition_of(found, "Ready")["message"]


async def test_a_container_is_given_up_by_us_and_not_left_to_the_engine(tmp_path: Path) -> None:
    engine = scripted()
    async with ship(tmp_path, engine) as world:
        status = await running(world, restartPolicy="on-failure", restartBackoff=QUICK, maxRestarts=1)
        engine.exit(status["containerId"], 1)
        await world.until("Container", "web", lambda tree: tree["status"].get("restartCount") == 1)
        await world.ready("Container", "web")
        engine.exit(status["containerId"], 1)
        found = await world.ready("Container", "web", "False", "TooManyRestarts")
        assert found["status"]["state"] == "Exited"
        assert "restarted once" in condition_of(found, "Ready")["message"]
        limited = await running(world, "limited", restartPolicy="always", maxRestarts=3)
        assert "RestartPolicy" not in engine.containers[limited["containerId"]].body["HostConfig"]
