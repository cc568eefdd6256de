"""Events tell the story of a workload, as `kubectl describe` shows it."""

import asyncio
from pathlib import Path

from tests.workload.app import App, app

from setpoint.objects.tree import Object


async def story(world: App, name: str, *until: str) -> list[Object]:
    """The events of an object in their order, as soon as they have these reasons."""
    async with asyncio.timeout(20):
        while True:
            found = await world.client.list("v1/Event", "default")
            events = [each for each in found.items if each["involvedObject"]["name"] == name]
            if set(until) <= {each["reason"] for each in events}:
                return sorted(events, key=lambda each: each["metadata"]["name"])
            await asyncio.sleep(0.02)


def said(events: list[Object]) -> list[tuple[str, str]]:
    return [(each["type"], each["reason"]) for each in events]


async def test_a_life_from_start_to_stop_is_told(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        made = await world.python("web")
        running = await world.state("Executable", "web", "Running")
        await world.patch("Executable", "web", spec={"stop": True})
        events = await story(world, "web", "Stopped")
        assert said(events) == [("Normal", "Started"), ("Normal", "Stopping"), ("Normal", "Stopped")]
        assert str(running["status"]["pid"]) in events[0]["message"]
        assert events[0]["involvedObject"]["uid"] == made["metadata"]["uid"]
        assert events[0]["involvedObject"]["kind"] == "Executable"


async def test_a_process_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        code = "import sys; sys.exit('no database')"
        await world.python("web", code, restartPolicy="OnFailure", restartBackoff={"initial": "20ms", "max": "20ms"})
        events = await story(world, "web", "Started", "BackOff", "Restarted")
        (backoff, *_) = [each for each in events if each["reason"] == "BackOff"]
        assert backoff["type"] == "Warning"
        assert "no database" in backoff["message"]


async def test_what_cannot_be_started_and_what_is_unwell_are_warnings(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        await world.make("Executable", "missing", {"executablePath": "/no/such/program"})
        assert ("Warning", "NotFound") in said(await story(world, "missing", "NotFound"))
        probe = {
            "name": "never",
            "type": "TCP",
            "tcpProbe": {"address": "127.0.0.1", "port": "1"},
            "schedule": {"interval": "50ms"},
        }
        await world.python("sick", healthProbes=[probe])
        assert ("Warning", "Unhealthy") in said(await story(world, "sick", "Unhealthy"))


async def test_a_process_that_ends_all_the_time_fills_nothing(tmp_path: Path) -> None:
    async with app(tmp_path) as world:
        backoff = {"initial": "1ms", "max": "1ms", "resetAfter": "1h"}
        await world.make(
            "Executable", "loop", {"executablePath": "false", "restartPolicy": "Always", "restartBackoff": backoff}
        )
        await world.until("Executable", "loop", lambda tree: (tree.get("status") or {}).get("restartCount", 0) >= 40)
        assert len(await story(world, "loop", "BackOff")) < 30
