"""What is tied to a process ends with it, though nobody who tied it lives any more."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.workload.process.stage import SORTS, Stage, asleep, new_nap
from tests.workload.process.test_guardian import Engine

from setpoint.workload.process.identity import Identity, identity_of
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.processes import Running
from setpoint.workload.process.ties import Tie

GRACE = 0.2


@contextmanager
def somebody() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that others are tied to."""
    with subprocess.Popen(["sleep", "86400"]) as process:
        try:
            yield process
        finally:
            process.kill()


def identity(process: "subprocess.Popen[bytes]") -> Identity:
    found = identity_of(process.pid)
    assert found is not None
    return found


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def keepers(stage: Stage) -> set[int]:
    """Who was left behind."""
    return ProcessTable().cookies().get(f"kept/guardian-{stage.processes.session}", set())


async def kept(stage: Stage, sort: str, nap: str, folder: Path) -> Running:
    command = stage.command("sh", "-c", SORTS[sort].replace("NAP", nap), keep=True, grace=GRACE)
    return await stage.processes.start(command, folder / "out", folder / "err")


def tie_of(running: Running, to: Identity) -> Tie:
    return Tie(to, signal.SIGTERM, GRACE, root=running.identity, cookie=running.cookie)


@pytest.mark.parametrize("sort", ["plain", "stubborn", "daemon"])
async def test_a_tree_ends_with_the_process_it_is_tied_to(stage: Stage, tmp_path: Path, sort: str) -> None:
    nap, other = new_nap(), new_nap()
    with somebody() as one:
        running = await kept(stage, sort, nap, tmp_path)
        await kept(stage, "plain", other, tmp_path)
        stage.processes.tie(tie_of(running, identity(one)))
        await stage.processes.close()
        assert asleep(nap)
        assert len(keepers(stage)) == 1
    until(lambda: not asleep(nap))
    until(lambda: not keepers(stage))
    assert len(asleep(other)) == 1, "it is tied to nobody"
    os.kill(asleep(other)[0], signal.SIGKILL)


async def test_nobody_waits_for_what_has_ended_by_itself(stage: Stage, tmp_path: Path) -> None:
    nap = new_nap()
    with somebody() as one:
        running = await kept(stage, "plain", nap, tmp_path)
        stage.processes.tie(tie_of(running, identity(one)))
        await stage.processes.close()
        assert keepers(stage)
        os.kill(running.identity.pid, signal.SIGKILL)
        until(lambda: not keepers(stage))
        assert one.poll() is None


async def test_it_ends_at_once_where_that_process_was_gone_before_the_control_plane(
    stage: Stage, tmp_path: Path
) -> None:
    nap = new_nap()
    with somebody() as one:
        running = await kept(stage, "plain", nap, tmp_path)
        stage.processes.tie(tie_of(running, identity(one)))
    await stage.processes.close()
    until(lambda: not asleep(nap) and not keepers(stage))


async def test_a_guardian_that_is_killed_passes_its_ties_on(stage: Stage, tmp_path: Path) -> None:
    nap = new_nap()
    with somebody() as one:
        running = await kept(stage, "plain", nap, tmp_path)
        stage.processes.tie(tie_of(running, identity(one)))
        [keeper] = keepers(stage)
        os.kill(keeper, signal.SIGKILL)
        await stage.until(lambda: bool(keepers(stage) - {keeper}))
        await stage.processes.close()
    until(lambda: not asleep(nap) and not keepers(stage))


async def test_a_container_is_stopped_with_the_process_it_is_tied_to(stage: Stage, tmp_path: Path) -> None:
    engine = Engine(tmp_path / "engine")
    serving = threading.Thread(target=engine.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    with somebody() as one:
        for name in ("db", "db", "cache"):
            tie = Tie(identity(one), 0, 3, socket=str(tmp_path / "engine"), container=name)
            stage.processes.tie(tie)
        await stage.processes.close()
        assert engine.asked == []
    until(lambda: not keepers(stage))
    engine.shutdown()
    engine.server_close()
    serving.join()
    assert sorted(engine.asked) == ["POST /containers/cache/stop?t=3", "POST /containers/db/stop?t=3"]
