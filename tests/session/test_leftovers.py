"""What a session leaves that is killed: it is told of, cleared up after once, and nothing else is touched."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.session.apps import WAITS, app
from tests.session.killed import Disturbed, Hosted, eventually, hosted, undisturbed
from tests.workload.engine.scripted.engine import ScriptedEngine

from setpoint.cli.main import main
from setpoint.machine.chosen import system
from setpoint.objects.clock import SystemClock
from setpoint.objects.ids import SystemIds
from setpoint.session.leftovers import Leftovers, last_log_error
from setpoint.session.registry import Session, Sessions
from setpoint.workload.engine import labels
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine_lookup import NAMESPACE
from setpoint.workload.process.identity import boot_id, identity_of

pytestmark = pytest.mark.slow


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    found = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    for name in ("KUBECONFIG", "DOCKER_HOST", "CONTAINER_HOST", "NO_COLOR", "FORCE_COLOR"):
        found.pop(name, None)
    return found


def setpoint(environ: dict[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), env=environ)


async def none() -> Unavailable:
    return Unavailable("NotInstalled", "there is no engine", "")


def leftovers(environ: dict[str, str], engine: ScriptedEngine | None = None) -> Leftovers:
    connect: Callable[[], Coroutine[Any, Any, Any]] = engine.connect if engine is not None else none
    return Leftovers(Sessions.of(environ), SystemClock(), SystemIds(), environ, connect)


def test_the_next_command_says_what_a_killed_session_left_and_stops_it(tmp_path: Path, environ: dict[str, str]) -> None:
    with hosted(tmp_path, environ, "other") as other:
        running = other.workers()

        def attempt(number: int) -> None:
            with hosted(tmp_path, environ, f"lost-{number}") as lost:
                data = Path(lost.session.data)
                lost.kill(guardian=True)
                result = setpoint(environ, "ps", "--session", "other")
                assert result.exit_code == 0, result.output
                first = result.stderr.splitlines()[0]
                assert first.startswith(f"session {lost.session.id} ended unexpectedly ")
                assert f"setpoint export --session {lost.session.id}" in result.stderr
                assert lost.workers() == set()
                assert (data / "store.sqlite3").exists(), "what happened in it can still be asked for"
                ended = Sessions.of(environ).past()[-1]
                assert (ended.id, ended.crashed) == (lost.session.id, True)
                assert setpoint(environ, "ps", "--session", "other").stderr == "", "it is told once"
                if not first.endswith(" ago; stopped 2 processes left behind"):
                    raise Disturbed(first)

        undisturbed(attempt)
        assert other.workers() == running, "another session's are not touched"


def test_what_a_guardian_still_stops_is_left_to_it(tmp_path: Path, environ: dict[str, str]) -> None:
    with hosted(tmp_path, environ) as lost:
        guardian = next(pid for cookie, pids in lost.cookies().items() if cookie.endswith("/guardian") for pid in pids)
        os.kill(guardian, signal.SIGSTOP)
        lost.kill(guardian=False)
        result = setpoint(environ, "ps")
        assert "its workloads are being stopped" in result.stderr
        assert Sessions.of(environ).dead() == [lost.session], "it is looked at again"
        os.kill(guardian, signal.SIGCONT)
        eventually(lambda: not lost.cookies())
        assert "no process was left running" in setpoint(environ, "ps").stderr


async def test_two_that_clear_at_once_tell_of_it_once(tmp_path: Path, environ: dict[str, str]) -> None:
    with hosted(tmp_path, environ) as lost:
        lost.kill(guardian=True)

        async def both() -> list[object]:
            return list(await asyncio.gather(*(leftovers(environ).clear(lost.session) for _ in range(3))))

        found = [each for each in (await both()) if each is not None]
        assert len(found) == 1
        assert lost.workers() == set()


def test_a_command_that_completes_a_line_clears_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    with hosted(tmp_path, environ, workers=0) as lost:
        lost.kill(guardian=True)
        completing = {
            **environ,
            "_SETPOINT_COMPLETE": "bash_complete",
            "COMP_WORDS": "setpoint logs ",
            "COMP_CWORD": "2",
        }
        setpoint(completing, "logs")
        assert Sessions.of(environ).dead() == [lost.session]


@pytest.fixture
def dead(environ: dict[str, str], tmp_path: Path) -> Session:
    """A session whose process is gone."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identity_of(process.pid)
    assert identity is not None
    process.communicate()
    data = tmp_path / "state" / "setpoint" / "sessions" / "shop-data"
    data.mkdir(parents=True)
    found = Session("shop", str(tmp_path), identity.text(), "kc", "https://127.0.0.1:1", data=str(data))
    Sessions.of(environ).add(found)
    return found


def made_by(process: str, *, persistent: bool = False) -> dict[str, str]:
    pid, started, boot = process.split(":")
    session = f"{pid}-{started}-{boot[:8]}-abcde"
    made = labels.maker(pid=int(pid), started=f"{started}:{boot}", persistent=persistent, session=session)
    return {**made, NAMESPACE: system.pid_namespace()}


@pytest.fixture
def engine() -> ScriptedEngine:
    found = ScriptedEngine(SystemClock())
    found.add_image("shop:1")
    return found


async def fill(engine: ScriptedEngine, name: str, made: dict[str, str]) -> None:
    """A container, a network and a volume of one maker."""
    found = await engine.connect()
    assert not isinstance(found, Unavailable)
    await found.containers.create(f"{name}-container", {"Image": "shop:1", "Labels": made})
    await found.networks.create(f"{name}-network", labels=made)
    await found.volumes.create(f"{name}-volume", labels=made)
    await found.close()


def names(engine: ScriptedEngine) -> set[str]:
    containers = [each.name for each in engine.containers.values()]
    networks = [each.name for each in engine.networks.values()]
    return {name.partition("-")[0] for name in (*containers, *networks, *engine.volumes)}


async def test_what_it_left_in_an_engine_goes_and_what_is_kept_or_anothers_stays(
    environ: dict[str, str], dead: Session, engine: ScriptedEngine
) -> None:
    own = identity_of(os.getpid())
    assert own is not None

    async def clear() -> None:
        await fill(engine, "left", made_by(dead.process))
        await fill(engine, "kept", made_by(dead.process, persistent=True))
        await fill(engine, "living", made_by(own.text()))
        await fill(engine, "foreign", {})
        cleared = await leftovers(environ, engine).clear(dead)
        assert cleared is not None
        assert cleared.left.counts == {"process": 0, "container": 1, "network": 1, "volume": 1}
        assert cleared.problems == ()

    await clear()
    assert names(engine) == {"kept", "living", "foreign"}


async def test_after_a_reboot_its_containers_are_still_known_to_be_its(
    environ: dict[str, str], dead: Session, engine: ScriptedEngine
) -> None:
    before = msgspec.structs.replace(dead, process=dead.process.replace(boot_id(), "0" * len(boot_id())))
    Sessions.of(environ).remove(dead)
    Sessions.of(environ).add(before)

    async def clear() -> None:
        await fill(engine, "left", made_by(before.process))
        cleared = await leftovers(environ, engine).clear(before)
        assert cleared is not None
        assert cleared.left.counts["container"] == 1

    await clear()
    assert names(engine) == set()


async def test_an_engine_that_does_not_let_go_of_something_is_told_of(
    environ: dict[str, str], dead: Session, engine: ScriptedEngine
) -> None:
    async def clear() -> None:
        await fill(engine, "left", made_by(dead.process))
        engine.fail("networks.remove", 500, "it is stuck")
        cleared = await leftovers(environ, engine).clear(dead)
        assert cleared is not None
        assert cleared.left.counts["network"] == 0
        assert any("could not remove network left-network" in each for each in cleared.problems)

    await clear()


async def test_a_host_whose_process_cannot_be_seen_is_not_taken_for_dead(
    environ: dict[str, str], dead: Session
) -> None:
    with open(Path(dead.data, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (await leftovers(environ).clear(dead)) is None
        assert Sessions.of(environ).dead() == [dead]
    assert (await leftovers(environ).clear(dead)) is not None


def test_who_starts_an_app_is_told_of_one_that_was_killed_before(
    environ: dict[str, str], dead: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setpoint.yaml").write_text(f"app: shop\nservices:\n  api: {{ run: {WAITS} }}\n")
    try:
        ran = setpoint(environ, "up", "-d")
        assert ran.exit_code == 0, ran.output
        assert f"session {dead.id} ended unexpectedly" in ran.stderr
    finally:
        setpoint(environ, "down")


def test_the_last_words_of_a_host_are_the_last_line_of_its_log(dead: Session) -> None:
    assert last_log_error(dead) == ""
    Path(dead.data, "host.log").write_text("began\nMemoryError: no more\n\n")
    assert last_log_error(dead) == "MemoryError: no more"
    Path(dead.data, "host.log").write_text("2026-01-31 12:00:00,000 INFO setpoint.session.host all is well\n")
    assert last_log_error(dead) == "", "that it was well says nothing"


async def test_an_app_that_was_killed_is_told_of_and_its_past_outlives_the_next_start(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, environ[name])
    monkeypatch.delenv("KUBECONFIG", raising=False)
    place = tmp_path / "shop"
    text = f"app: shop\nservices:\n  api: {{ run: {WAITS}, env: {{ SAYS: first life }} }}\n"

    async def command(*arguments: str) -> Result:
        return await asyncio.to_thread(setpoint, environ, *arguments)

    async with app(place, text) as shop:
        monkeypatch.chdir(place)
        await shop.running("api")
        host = Hosted(shop.started.session)
        await asyncio.to_thread(eventually, lambda: "first life" in setpoint(environ, "logs", "api").stdout)
        await asyncio.to_thread(host.kill, guardian=True)
        # The command says nothing while another process, such as a watcher, still cleans up.
        report = f"session {host.session.id} ended unexpectedly"
        await asyncio.to_thread(eventually, lambda: report in setpoint(environ, "ps").stderr)
        assert host.workers() == set()
    async with app(place, text.replace("first", "second")) as shop:
        await shop.running("api")
        await asyncio.to_thread(eventually, lambda: "second life" in setpoint(environ, "logs", "api").stdout)
        wrote = await command("export", "crashed.setpoint", "--crashed")
        assert wrote.exit_code == 0, wrote.output
        assert "first life" in output(place / "crashed.setpoint")
    ended = await command("export", "ended.setpoint")
    assert ended.exit_code == 0, ended.output
    assert "second life" in output(place / "ended.setpoint"), "it outlives the end of what printed it"
    with zipfile.ZipFile(place / "ended.setpoint") as archive:
        assert "second life" in archive.read("app/setpoint.yaml").decode()


def output(archive: Path) -> str:
    """All that was printed, by an archive."""
    with zipfile.ZipFile(archive) as found:
        return "".join(found.read(name).decode() for name in found.namelist() if name.endswith("stdout.log"))
