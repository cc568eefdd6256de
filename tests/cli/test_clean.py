"""`setpoint clean`: what sessions left goes, what runs and what is kept stays, and it says what it looked at."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.session.killed import Disturbed, Hosted, eventually, hosted, undisturbed

from setpoint.cli.main import main
from setpoint.session.registry import Session, Sessions
from setpoint.workload.process.identity import is_alive, parse
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.records import Records, records_path

pytestmark = pytest.mark.slow

Run = Callable[..., Result]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    found = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    for name in ("KUBECONFIG", "NO_COLOR", "FORCE_COLOR", "DOCKER_HOST", "CONTAINER_HOST"):
        found.pop(name, None)
    return found


@pytest.fixture
def setpoint(environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, text: str = "") -> Result:
        return CliRunner().invoke(main, list(arguments), env=environ, input=text)

    return run


def ended(environ: dict[str, str], directory: Path, app: str = "shop") -> Session:
    """A session that came to its end and left a directory with something in it."""
    sessions = Sessions.of(environ)
    session = Session(app, str(directory), "1:1:another-boot", "kc", "https://127.0.0.1:1")
    data = sessions.directory / session.id
    data.mkdir(parents=True)
    (data / "store.sqlite3").write_bytes(bytes(5000))
    session = Session(app, str(directory), "1:1:another-boot", "kc", "https://127.0.0.1:1", data=str(data))
    sessions.add(session)
    sessions.remove(session, ended="2026-01-31T12:00:00Z")
    return session


def test_nothing_to_do_is_said_with_what_was_looked_at(setpoint: Run) -> None:
    def attempt(number: int) -> None:
        before, ran, after = setpoint("clean", "--dry-run"), setpoint("clean"), setpoint("clean", "--dry-run")
        if {before.stdout, after.stdout} != {"no leftovers found\n"}:
            raise Disturbed
        assert ran.exit_code == 0, ran.output
        assert re.fullmatch(r"nothing left running \(\d+ processes checked\)\n", ran.stdout), ran.output

    undisturbed(attempt)


def test_the_past_of_this_directory_goes_and_that_of_others_only_with_all(
    setpoint: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    here, elsewhere = ended(environ, tmp_path), ended(environ, tmp_path / "elsewhere", "other")
    would = setpoint("clean", "--dry-run").stdout
    assert f"would remove the data of {here.id}: 5." in would
    assert Path(here.data).exists()
    assert f"removed the data of {here.id}: 5." in setpoint("clean").stdout
    assert not Path(here.data).exists()
    assert Path(elsewhere.data).exists()
    told = json.loads(setpoint("clean", "--all", "-o", "json").stdout)
    assert [each["name"] for each in told["directories"] if "killed" not in each["name"]] == [elsewhere.id]
    assert told["freedBytes"] > 5000
    assert Sessions.of(environ).past() == []


def test_what_was_killed_goes_and_what_runs_stays(setpoint: Run, environ: dict[str, str], tmp_path: Path) -> None:
    def attempt(number: int) -> None:
        with hosted(tmp_path, environ, f"lost-{number}") as lost:
            lost.kill(guardian=True)
            would = setpoint("clean", "--dry-run").stdout
            assert f"session {lost.session.id} ended unexpectedly; its leftovers would be removed" in would
            remained = lost.workers()
            ran = setpoint("clean", "--all")
            assert ran.exit_code == 0, ran.output
            assert "nothing left running" in ran.stdout
            assert "1 session still running" in ran.stdout
            assert lost.workers() == set()
            assert not Path(lost.session.data).exists()
            if "would stop and remove 2 processes" not in would or "stopped and removed 2 processes" not in ran.stdout:
                raise Disturbed
            assert len(remained) == 2, "a dry run changes nothing"

    with hosted(tmp_path, environ, "other", workers=1) as other:
        undisturbed(attempt)
        assert len(other.workers()) == 1
        assert Path(other.session.data).exists()


def keep_one(setpoint: Run, host: Hosted, environ: dict[str, str]) -> str:
    """A process that is to outlive its session; who it is."""
    text = (
        "apiVersion: usvc-dev.developer.microsoft.com/v1\nkind: Executable\nmetadata: {name: keeper}\n"
        "spec: {executablePath: /bin/sleep, args: ['1000'], persistent: true}\n"
    )
    assert setpoint("apply", "-f", "-", "--session", host.session.id, text=text).exit_code == 0

    def identity() -> str:
        records = Records(records_path(environ), ProcessTable().stats[os.getpid()].identity, "test")
        found = records.kept("Executable", "keeper") or {}
        records.close()
        return str(found.get("identity", ""))

    eventually(identity)
    return identity()


def test_what_is_kept_goes_only_when_that_is_asked_for_and_meant(
    setpoint: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    with hosted(tmp_path, environ, workers=0) as host:
        keeper = parse(keep_one(setpoint, host, environ))
        assert keeper is not None
        host.kill(guardian=True)
        assert setpoint("clean", "--all").exit_code == 0
        assert is_alive(keeper), "it was to be kept"
        refused = setpoint("clean", "--all", "--kept", text="n\n")
        assert (refused.exit_code, is_alive(keeper)) == (1, True)
        assert "Executable keeper" in refused.stderr
        ran = setpoint("clean", "--all", "--kept", "--yes")
        assert "removed kept objects: 1 process" in ran.stdout, ran.output
        assert not is_alive(keeper)
