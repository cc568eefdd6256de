"""A host that stands by: it becomes the host of the app, and is gone when nobody wants it or was never there."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.processes import has_ended
from tests.session.apps import WAITS

from setpoint.cli.support.connection import Server, connect
from setpoint.session.shutdown import end
from setpoint.session.standby import Standby
from setpoint.session.startup import start

PATIENCE_SECONDS = 30.0


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "setpoint.yaml"
    path.write_text(f"app: shop\nservices: {{api: {{run: {WAITS}}}}}\n")
    return path


def await_end(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not has_ended(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_it_becomes_the_host(file: Path) -> None:
    with Standby(os.environ, file) as standby:
        started = await start("shop", file, os.environ, standby=standby)
    assert started.session.pid == standby.pid
    async with connect(Server(session=started.session.id)) as client:
        assert not (await end(started.session, client, lambda _: None)).left
    assert has_ended(standby.pid)


def test_one_that_nobody_wants_is_gone_at_once(file: Path) -> None:
    with Standby(os.environ, file) as standby:
        pass
    assert has_ended(standby.pid)


@pytest.mark.slow
async def test_one_that_was_killed_is_done_without(file: Path) -> None:
    with Standby(os.environ, file) as standby:
        os.kill(standby.pid, signal.SIGKILL)
        await_end(standby.pid)
        started = await start("shop", file, os.environ, standby=standby)
    assert started.session.pid != standby.pid
    async with connect(Server(session=started.session.id)) as client:
        assert not (await end(started.session, client, lambda _: None)).left
