"""`monitor-container`: a container goes with a process, and the command with the container."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.workload.controllers.ship import IMAGE, scripted
from tests.workload.engine.scripted.engine import ScriptedEngine

from setpoint.cli.dcp.containers import tie
from setpoint.cli.dcp.group import dcp
from setpoint.objects.clock import SystemClock
from setpoint.workload.engine.errors import EngineError

SECONDS = 0.01


async def shop() -> tuple[ScriptedEngine, str]:
    """An engine with a container that runs."""
    engine = scripted()
    made = (await engine.engine.containers.create("shop", {"Image": IMAGE})).id
    await engine.engine.containers.start(made)
    return engine, made


async def tied(engine: ScriptedEngine, gone: asyncio.Event, *, stop_only: bool = False) -> None:
    await tie(engine.engine, "shop", _heard(gone), SystemClock(), look_seconds=SECONDS, stop_only=stop_only)


async def _heard(gone: asyncio.Event) -> None:
    await gone.wait()


async def test_a_container_goes_with_what_it_is_tied_to() -> None:
    engine, container = await shop()
    gone = asyncio.Event()
    waiting = asyncio.ensure_future(tied(engine, gone))
    await asyncio.sleep(3 * SECONDS)
    assert engine.containers[container].is_running
    gone.set()
    await waiting
    assert not engine.containers


async def test_it_may_be_stopped_only() -> None:
    engine, container = await shop()
    gone = asyncio.Event()
    gone.set()
    await tied(engine, gone, stop_only=True)
    assert engine.containers[container].status == "exited"


async def test_one_that_is_removed_by_others_needs_nobody_to_wait() -> None:
    engine, _ = await shop()
    waiting = asyncio.ensure_future(tied(engine, asyncio.Event()))
    engine.stop()
    await asyncio.sleep(3 * SECONDS)
    assert not waiting.done()
    engine.start()
    engine.remove("shop")
    async with asyncio.timeout(10):
        await waiting


async def test_what_cannot_be_stopped_is_removed_all_the_same_or_told_of() -> None:
    engine, _ = await shop()
    gone = asyncio.Event()
    gone.set()
    engine.fail("containers.stop", 500, "it does not listen", times=2)
    with pytest.raises(EngineError, match="does not listen"):
        await tied(engine, gone, stop_only=True)
    await tied(engine, gone)
    assert not engine.containers


def test_without_an_engine_the_command_says_so(tmp_path: Path) -> None:
    words = ["monitor-container", "--monitor", "1", "--containerID", "shop"]
    done = CliRunner().invoke(dcp, words, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    assert done.exit_code == 1
    assert str(tmp_path) in done.output
