"""`setpoint runs`: of a session that has ended, and of a server."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from tests.cli.conftest import Command

from setpoint.cli.main import main
from setpoint.past.runs.record import RunObject, RunPart, RunRecord
from setpoint.past.runs.run_files import RunFiles
from setpoint.session.locks import locked
from setpoint.session.paths import Places
from setpoint.session.registry import Session, Sessions

GROUP = "usvc-dev.developer.microsoft.com"


class Ended:
    """A session that has ended, in the current directory."""

    def __init__(self, directory: Path) -> None:
        self.environ = {"XDG_STATE_HOME": str(directory / "state"), "HOME": str(directory), "KUBECONFIG": ""}
        sessions, self.places = Sessions.of(self.environ), Places.of(self.environ, "shop-1")
        self.places.data.mkdir(parents=True)
        session = Session("shop", str(directory), "", "", "", data=str(self.places.data))
        sessions.add(session)
        sessions.remove(session, ended="2026-01-31T12:30:00Z")
        self.places.lock.touch()
        self.files = RunFiles(self.places.runs)

    def write(self, number: int, colour: str, part: RunPart, **fields: Any) -> None:
        tree = {"kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}, "data": {"c": colour}}
        value = msgspec.Raw(json.dumps(tree).encode())
        started, ended = (f"2026-01-31T1{number}:0{minute}:00.000000Z" for minute in (0, 3))
        given: dict[str, Any] = {"end": "Stopped", "ended": ended, "started": started, **fields}
        record = RunRecord(number=number, log="a", first_revision=1, parts=(part,), **given)
        self.files.write(record, (RunObject("/core/configmaps/default/settings", 4, value),))

    def __call__(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["runs", *words], env=self.environ)


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ended:
    monkeypatch.chdir(tmp_path)
    return Ended(tmp_path)


@pytest.fixture
def two(ended: Ended) -> Ended:
    ended.write(1, "red", RunPart("Executable", "api", "executables", GROUP, "Ready", "Healthy", 1, 1, 1.25))
    failed = RunPart("Executable", "api", "executables", GROUP, "Failed", "Exited", 0, 1, None, 2, 3)
    ended.write(2, "blue", failed, end="Crashed", ended="", name="broken", pinned=True)
    return ended


def test_the_runs_of_an_ended_session_are_listed(two: Ended) -> None:
    lines = two().stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["RUN", "2", "1"]
    assert lines[0].split() == ["RUN", "NAME", "STARTED", "DURATION", "END", "FAILED", "PINNED"]
    assert lines[1].split()[1] == "broken"
    assert lines[1].split()[-3:] == ["crashed", "1", "yes"]
    assert lines[2].split()[-3:] == ["3m", "stopped", "0"]
    assert two("-o", "name").stdout == "2\n1\n"
    [newest, _] = json.loads(two("-o", "json").stdout)["items"]
    assert (newest["name"], newest["current"], newest["parts"][0]["exitCode"]) == ("broken", False, 3)


def test_two_runs_are_compared_and_the_last_one_is_the_default(two: Ended) -> None:
    lines = two("diff", "1").stdout.splitlines()
    assert lines == [
        "run 1 → run 2",
        "  api: Ready in 1.2s → Failed (Exited), 2 restarts, exit code 3",
        "ConfigMap/default/settings",
        "  data.c red→blue",
    ]
    assert two("diff", "2", "1").stdout.splitlines()[-1] == "  data.c blue→red"
    found = json.loads(two("diff", "1", "2", "-o", "json").stdout)
    assert (found["kind"], found["parts"][0]["fields"][0]) == ("RunDifference", "state")


def test_a_run_of_an_ended_session_is_pinned_and_named(two: Ended) -> None:
    assert two("pin", "1", "--name", "good one").stdout == "run 1 pinned\n"
    assert (two.files.record(1).pinned, two.files.record(1).name) == (True, "good one")
    assert two("unpin", "1").stdout == "run 1 unpinned\n"
    assert (two.files.record(1).pinned, two.files.record(1).name) == (False, "good one")


def test_wrong_runs_are_errors_with_a_remedy(two: Ended) -> None:
    for words in (("diff", "7"), ("diff", "1", "7"), ("pin", "7")):
        ran = two(*words)
        assert (ran.exit_code, ran.stderr) == (
            3,
            "Error: run 7 is not recorded; `setpoint runs` lists the recorded ones\n",
        )
    ran = two("pin", "1", "--name", "a" * 101)
    assert (ran.exit_code, "name: must have at most 100 characters" in ran.stderr) == (1, True)
    assert two("diff", "none").exit_code == 2
    with locked(two.places.lock):
        ran = two("pin", "1")
    assert (ran.exit_code, "the app is starting; repeat the command" in ran.stderr) == (5, True)
    (two.places.runs / "000001.objects.gz").write_bytes(b"")
    ran = two("diff", "1")
    assert (ran.exit_code, "the objects of run 1 cannot be read" in ran.stderr) == (2, True)


def test_a_session_without_runs_says_so(ended: Ended) -> None:
    ran = ended()
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "", "No run of the app is recorded.\n")
    assert (ended("diff", "1").exit_code, ended("diff", "1", "2").exit_code) == (3, 3)


def test_a_server_without_runs_has_none(setpoint: Command) -> None:
    ran = setpoint("runs")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "No run of the app is recorded.\n")
    assert setpoint("runs", "diff", "1").code == 3
    assert setpoint("runs", "pin", "1").code == 3
