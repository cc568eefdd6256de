"""Sessions and the way to a server: what is found from where, what is dead, and what is said when nothing runs."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from tests.cli.conftest import Ran, Served

from setpoint.cli.main import main
from setpoint.cli.support.connection import Server, find
from setpoint.cli.support.errors import NO_SERVER, NOT_FOUND, Failure
from setpoint.session.registry import Session, Sessions, process_identity
from setpoint.workload.process.identity import identity_of


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "deep" / "below").mkdir(parents=True)
    return place


def session(project: Path, app: str = "shop", process: str = "") -> Session:
    return Session(app, str(project), process or process_identity(), str(project / "kc"), "https://127.0.0.1:1")


@pytest.fixture
def ended() -> str:
    """The identity of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identity_of(process.pid)
    assert identity is not None
    process.communicate()
    return identity.text()


def test_a_session_is_found_from_its_directory_and_from_any_below(environ: dict[str, str], project: Path) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project))
    for place in (project, project / "deep" / "below"):
        found = find(Server(), environ, place)
        assert (found.paths, found.session) == ((project / "kc",), session(project))
    with pytest.raises(Failure) as caught:
        find(Server(), environ, project.parent)
    assert f"Running elsewhere: shop in {project}" in caught.value.message


def test_the_nearest_session_counts(environ: dict[str, str], project: Path) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project))
    sessions.add(session(project / "deep", "inner"))
    found = find(Server(), environ, project / "deep" / "below").session
    assert found is not None
    assert found.app == "inner"


def test_a_session_is_known_by_its_app_or_its_id_from_anywhere(environ: dict[str, str], project: Path) -> None:
    made = session(project)
    Sessions.of(environ).add(made)
    for name in ("shop", made.id):
        assert find(Server(session=name), environ, project.parent).session == made
    with pytest.raises(Failure) as caught:
        find(Server(session="nobody"), environ, project)
    assert caught.value.exit_code == NOT_FOUND
    assert made.id in caught.value.message


def test_two_apps_in_one_directory_have_to_be_told_apart(environ: dict[str, str], project: Path) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project, "shop"))
    sessions.add(session(project, "blog"))
    with pytest.raises(Failure, match="more than one session of this directory: select one with --session"):
        find(Server(), environ, project)


def test_a_session_whose_process_is_gone_is_dead(environ: dict[str, str], project: Path, ended: str) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project, process=ended))
    assert [each.app for each in sessions.dead()] == ["shop"]
    assert sessions.alive() == []
    with pytest.raises(Failure, match="no app is running here"):
        find(Server(), environ, project)


def test_another_process_with_the_same_pid_is_not_taken_for_it(environ: dict[str, str], project: Path) -> None:
    pid, started, boot = process_identity().split(":")
    assert session(project).is_alive
    assert not session(project, process=f"{pid}:{int(started) - 1}:{boot}").is_alive
    assert not session(project, process=f"{pid}:{started}:another-boot").is_alive


def test_a_session_that_another_has_replaced_is_not_removed(environ: dict[str, str], project: Path, ended: str) -> None:
    sessions = Sessions.of(environ)
    old = session(project, process=ended)
    sessions.add(old)
    sessions.add(session(project))
    sessions.remove(old)
    assert sessions.all() == [session(project)]
    sessions.remove(session(project))
    assert sessions.all() == []


def test_only_its_user_can_read_a_session_and_half_a_file_is_none(environ: dict[str, str], project: Path) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project))
    directory = Path(environ["XDG_STATE_HOME"]) / "setpoint" / "sessions"
    [file] = directory.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    (directory / "torn.json").write_text('{"app": "x"')
    assert sessions.all() == [session(project)]


def test_what_is_said_counts_before_what_is_found(environ: dict[str, str], project: Path, tmp_path: Path) -> None:
    Sessions.of(environ).add(session(project))
    mine = tmp_path / "mine"
    mine.touch()
    with_variable = {**environ, "KUBECONFIG": str(mine)}
    assert find(Server(), with_variable, tmp_path).paths == (mine,)
    assert find(Server(), with_variable, project).paths == (project / "kc",), "who works on an app means the app"
    assert find(Server(session="shop"), with_variable, project).paths == (project / "kc",)
    assert find(Server(kubeconfig="said"), with_variable, project).paths == (Path("said"),)


def test_a_server_of_this_user_is_found_and_the_home_kubeconfig_is_not(environ: dict[str, str], project: Path) -> None:
    home = Path(environ["HOME"]) / ".kube"
    home.mkdir()
    (home / "config").touch()
    with pytest.raises(Failure) as caught:
        find(Server(), environ, project)
    assert caught.value.exit_code == NO_SERVER
    assert "--kubeconfig FILE" in caught.value.message
    served = Path(environ["XDG_STATE_HOME"]) / "setpoint" / "kubeconfig"
    served.parent.mkdir(parents=True)
    served.touch()
    assert find(Server(), environ, project).paths == (served,)


def command(environ: dict[str, str], *arguments: str) -> Ran:
    cleared = dict.fromkeys(("KUBECONFIG",), "")
    result = CliRunner().invoke(main, list(arguments), env={**os.environ, **cleared, **environ})
    return Ran(result.exit_code, result.stdout, result.stderr)


def test_a_server_that_does_not_answer_is_told_with_how_it_was_found(
    environ: dict[str, str], served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "kc"
    text = served.kubeconfig.read_text()
    line = next(each for each in text.splitlines() if "server:" in each)
    file.write_text(text.replace(line, line.partition("https")[0] + "https://127.0.0.1:1"))
    ran = command(environ, "get", "ns", "--kubeconfig", str(file))
    assert ran.code == NO_SERVER
    assert "cannot connect to https://127.0.0.1:1" in ran.stderr
    assert "(found by --kubeconfig)" in ran.stderr


def test_sessions_are_listed_with_how_they_are(environ: dict[str, str], project: Path, ended: str) -> None:
    sessions = Sessions.of(environ)
    sessions.add(session(project))
    sessions.add(session(project / "deep", "old", ended))
    head, *rows = command(environ, "sessions").stdout.splitlines()
    assert head.split() == ["SESSION", "APP", "STATE", "AGE", "DIRECTORY", "URL"]
    assert {row.split()[1]: row.split()[2] for row in rows} == {"shop": "Detached", "old": "Dead"}


def test_a_session_is_attached_while_its_terminal_lives_and_one_that_has_ended_is_shown_on_demand(
    environ: dict[str, str], project: Path, ended: str
) -> None:
    sessions = Sessions.of(environ)
    data = sessions.directory / "data"
    data.mkdir(parents=True)
    one = msgspec.structs.replace(session(project), data=str(data))
    sessions.add(one)
    for attendant, state in ((process_identity(), "Attached"), (ended, "Detached")):
        (data / "attended").write_text(attendant)
        assert [each["state"] for each in json.loads(command(environ, "sessions", "-o", "json").stdout)] == [state]
    for crashed, state in ((False, "Ended"), (True, "Crashed")):
        sessions.add(one)
        sessions.remove(one, ended="2026-01-31T12:00:00Z", crashed=crashed)
        assert "use --all to list them" in command(environ, "sessions").stderr
        assert command(environ, "sessions", "--all", "-o", "name").stdout == f"{one.id}\n"
        assert command(environ, "sessions", "--all").stdout.splitlines()[1].split()[2] == state


def test_wide_tells_how_many_parts_are_ready(environ: dict[str, str], served: Served, project: Path) -> None:
    Sessions.of(environ).add(
        Session("shop", str(project), process_identity(), str(served.kubeconfig), "https://127.0.0.1:1")
    )
    head, row = command(environ, "sessions", "-o", "wide").stdout.splitlines()
    assert head.split()[6:] == ["READY", "PID", "DATA", "KUBECONFIG"]
    assert re.search(r" \d+/\d+ ", row)
    Sessions.of(environ).add(session(project, "silent"))
    assert " ? " in command(environ, "sessions", "-o", "wide").stdout


def test_the_kubeconfig_is_printed_for_other_programs(environ: dict[str, str], served: Served, project: Path) -> None:
    Sessions.of(environ).add(
        Session("shop", str(project), process_identity(), str(served.kubeconfig), "https://127.0.0.1:1")
    )
    assert command(environ, "kubeconfig", "--session", "shop").stdout == f"{served.kubeconfig}\n"
    assert command(environ, "kubeconfig", "--session", "shop", "--print").stdout == served.kubeconfig.read_text()
    assert command(environ, "get", "ns/default", "--session", "shop", "-o", "name").stdout == "namespace/default\n"
