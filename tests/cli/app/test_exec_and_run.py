"""`exec`, and `run --service`, with the processes of a running app and without one."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.app.conftest import Shop
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran
from tests.cli.pseudo_terminal import shown

pytestmark = pytest.mark.slow

APP = """\
app: shop
services:
  site:
    run: "python3 -m http.server --bind 127.0.0.1 ${port.http}"
    dir: site
    ports: { http: auto }
    ready: /
    env: { PORT: "${port.http}", KEY: "${secret.key}" }
  api: { run: sleep 600, replicas: 2, after: site, env: { SITE: "${services.site.url}" } }
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """An app that runs."""
    directory = tmp_path_factory.mktemp("shop")
    (directory / "site").mkdir()
    (directory / "setpoint.yaml").write_text(APP)
    found = Shop(directory, {**own_environ(tmp_path_factory.mktemp("state")), "KEY": "secret 1"})
    assert found.run("up", "-d").code == 0
    yield found
    assert found.run("down", "--all", "--timeout", "0").code == 0


def fed(place: Shop, text: str, *arguments: str) -> Ran:
    """A command with a text as its standard input."""
    words = [sys.executable, "-m", "setpoint", *arguments]
    done = subprocess.run(
        words, input=text, cwd=place.directory, env=dict(place.environ), capture_output=True, text=True, timeout=60
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def names(place: Shop) -> list[str]:
    return sorted(item["metadata"]["name"] for item in json.loads(place.run("ps", "-o", "json").stdout)["items"])


def test_a_command_beside_a_process_has_its_environment_directory_and_exit_code(place: Shop) -> None:
    ran = place.run("exec", "site", "sh", "-c", 'echo "$KEY" "$PORT"; pwd; echo bad >&2; exit 3')
    own = json.loads(place.run("get", "exe/site", "-o", "json").stdout)
    [port] = [each["value"] for each in own["status"]["effectiveEnv"] if each["name"] == "PORT"]
    assert (ran.code, ran.stderr) == (3, "bad\n")
    assert ran.stdout == f"secret 1 {port}\n{os.path.realpath(place.directory / 'site')}\n"
    assert names(place) == ["api", "site"]


def test_options_of_exec_change_environment_and_directory_and_pass_input(place: Shop) -> None:
    ran = fed(place, "hello\n", "exec", "-i", "-e", "A=1", "-w", "/", "api.2", "sh", "-c", "cat; echo $A; pwd")
    assert ran == (0, "hello\n1\n/\n", "")
    assert fed(place, "hello\n", "exec", "-T", "api", "cat") == (0, "hello\n", "")
    assert place.run("exec", "--index", "2", "api", "true").code == 0
    missing = place.run("exec", "--index", "3", "api", "true")
    assert (missing.code, "api has no replica 3: available: api.1, api.2" in missing.stderr) == (3, True)
    assert "-u applies to containers" in place.run("exec", "-u", "root", "api", "true").stderr


def test_a_one_off_serves_no_port_of_its_service_and_is_removed(place: Shop) -> None:
    before = place.run("url", "site").stdout
    ran = place.run("run", "--service", "site", "-e", "X=$HOME", "sh", "-c", 'echo "$X $KEY"; echo $PORT; exit 4')
    first, port, *_ = ran.stdout.splitlines()
    assert (ran.code, first) == (4, "$HOME secret 1")
    assert port != before.strip().rpartition(":")[2]
    assert place.run("url", "site").stdout == before
    assert names(place) == ["api", "site"]


def test_a_kept_one_off_shows_its_log(place: Shop) -> None:
    ran = place.run("run", "--service", "api", "--no-rm", "--", "echo", "kept", "-n")
    [name] = re.findall(r"(api-run-\S+) is kept", ran.stderr)
    assert place.run("logs", name).stdout == "kept -n\n"
    assert place.run("delete", f"exe/{name}").code == 0


def test_without_a_running_app_the_dependencies_start_and_end(place: Shop, tmp_path: Path) -> None:
    other = Shop(tmp_path, {**own_environ(tmp_path / "state"), "KEY": "1"})
    (tmp_path / "site").mkdir()
    (tmp_path / "setpoint.yaml").write_text(APP)
    ran = other.run("run", "--service", "api", "sh", "-c", "echo $SITE")
    assert (ran.code, ran.stdout.startswith("http://localhost:")) == (0, True)
    assert other.run("sessions", "-o", "name").stdout == ""
    assert "service or task" not in ran.stderr
    alone = other.run("run", "--service", "api", "--no-deps", "-e", "SITE=x", "sh", "-c", "echo $SITE")
    assert (alone.code, alone.stdout) == (0, "x\n")


def test_mistakes_of_run_and_exec_are_named(place: Shop) -> None:
    assert "specify a TASK, or --service NAME" in place.run("run").stderr
    assert "--no-deps requires --service NAME" in place.run("run", "--no-deps", "task").stderr
    assert "not found" in place.run("run", "--service", "nope", "true").stderr
    assert "program 'nope' not found" in place.run("run", "--service", "api", "nope").stderr
    assert "expected NAME=VALUE" in place.run("exec", "-e", "=1", "api", "true").stderr


@pytest.mark.parametrize("words", [("exec", "api.1"), ("run", "--service", "api")])
def test_with_a_terminal_the_command_gets_one_even_if_it_ends_at_once(place: Shop, words: tuple[str, ...]) -> None:
    script = "test -t 0 && echo a terminal; exit 5"
    command = shlex.join([sys.executable, "-m", "setpoint", *words, "sh", "-c", script])
    seen = shown(["sh", "-c", f"cd {place.directory}; {command}; echo code $?"], 80, place.environ)
    assert seen == "a terminal\ncode 5\n"


TABLES = (
    ("ps",),
    ("ps", "-a"),
    ("ps", "api.1"),
    ("sessions",),
    ("top",),
    ("env", "site"),
    ("get", "exe"),
    ("history", "site"),
    ("url",),
)


@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_tables_fit_a_terminal_of_50_columns_and_are_whole_in_a_file(place: Shop, words: tuple[str, ...]) -> None:
    command = shlex.join([sys.executable, "-m", "setpoint", *words])
    environ = {**place.environ, "NO_COLOR": "1"}
    seen = shown(["sh", "-c", f"cd {place.directory}; {command}"], 50, environ)
    assert len(seen.splitlines()) > 1
    assert max(map(len, seen.splitlines())) <= 50, seen
    whole = place.run(*words)
    assert whole.code == 0
    # The summary of a change shortens long values by itself.
    assert words[0] == "history" or "…" not in whole.stdout


def test_replicas_have_the_same_names_in_every_command(place: Shop) -> None:
    assert place.run("exec", "api.2", "--", "true").code == 0
    assert re.findall(r"^ *(api\.\d) ", place.run("ps", "-a").stdout, re.MULTILINE) == ["api.1", "api.2"]
    assert re.findall(r"^(api\.\d) ", place.run("top").stdout, re.MULTILINE) == ["api.1", "api.2"]
    assert place.run("why", "api.2").code == 0
    assert place.run("env", "api.1").code == 0
    assert place.run("restart", "api.2").stdout.startswith("api.2 restarted")
    assert re.findall(r"^(api\.\d) ", place.run("ps", "api.2").stdout, re.MULTILINE) == ["api.2"]


def test_a_one_off_of_a_service_that_the_session_lacks_starts_its_dependencies(tmp_path: Path) -> None:
    (tmp_path / "setpoint.yaml").write_text(
        "app: shop\n"
        "services:\n"
        "  web: { run: sleep 600 }\n"
        "  db: { run: sleep 600 }\n"
        "  admin: { run: sleep 600, after: db, profiles: [tools], env: { COLOR: red } }\n"
    )
    place = Shop(tmp_path, own_environ(tmp_path / "state"))
    try:
        assert place.run("up", "-d", "web").code == 0
        ran = place.run("run", "--service", "admin", "sh", "-c", "echo $COLOR")
        assert (ran.code, ran.stdout) == (0, "red\n"), ran
        assert names(place) == ["db", "web"]
        missing = place.run("run", "--service", "nobody", "true")
        assert (missing.code, "nobody not found" in missing.stderr) == (3, True), missing
    finally:
        assert place.run("down", "--all", "--timeout", "0").code == 0


def test_a_one_off_reads_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("services: { web: { image: none, environment: { A: $COLOR } } }")
    (tmp_path / "b.yaml").write_text("services: { web: { environment: { B: more } } }")
    (tmp_path / "colors").write_text("COLOR=red\n")
    place = Shop(tmp_path, own_environ(tmp_path / "state"))
    options = ["-f", "a.yaml", "-f", "b.yaml", "--env-file", "colors"]
    shown = place.run("render", *options)
    assert ("red" in shown.stdout, "more" in shown.stdout) == (True, True)
    ran = place.run("run", *options, "--service", "nobody", "true")
    assert (ran.code, "service nobody not found" in ran.stderr) == (3, True), ran
