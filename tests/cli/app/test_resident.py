"""Short commands run in forks of a resident process: same output, no imports."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran

from setpoint.cli.resident.request import COMMANDS, is_short

pytestmark = pytest.mark.slow
APP = "app: quick\nservices:\n  one: { run: \"sh -c 'echo hello; exec sleep 600'\" }\n"
# Prints the imported modules of the command's own process.
PROGRAM = (
    "import atexit, os, sys\n"
    "from setpoint.cli.start import start\n"
    "atexit.register(lambda: os.write(int(os.environ['REPORT']), ' '.join(sys.modules).encode()))\n"
    "start()"
)
PATIENCE = 30.0


class Quick:
    """An app, and commands in its directory."""

    def __init__(self, directory: Path, state: Path) -> None:
        self.directory = directory
        self.environ = {**own_environ(state), "SETPOINT_RESIDENT": "on"}
        self.socket = state / "setpoint" / "resident.sock"

    def run(self, *words: str, **environ: str) -> Ran:
        command = [sys.executable, "-m", "setpoint", *words]
        done = subprocess.run(
            command, cwd=self.directory, env={**self.environ, **environ}, capture_output=True, text=True, timeout=60
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def imported(self, *words: str) -> set[str]:
        reading, writing = os.pipe()
        with open(reading, "rb") as report:
            subprocess.run(
                [sys.executable, "-c", PROGRAM, *words],
                cwd=self.directory,
                env={**self.environ, "REPORT": str(writing)},
                pass_fds=(writing,),
                capture_output=True,
                check=True,
            )
            os.close(writing)
            return set(report.read().decode().split())


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quick]:
    directory = tmp_path_factory.mktemp("app")
    found = Quick(directory, tmp_path_factory.mktemp("state"))
    (directory / "setpoint.yaml").write_text(APP)
    ran = found.run("up", "-d")
    assert ran.code == 0, ran
    try:
        yield found
    finally:
        found.run("down")


def test_a_short_command_imports_no_module_of_commands_or_clients(quick: Quick) -> None:
    quick.run("ps")
    imported = quick.imported("ps")
    assert {name for name in imported if name.startswith("setpoint")} == {
        "setpoint",
        "setpoint.cli",
        "setpoint.cli.start",
        "setpoint.cli.resident",
        "setpoint.cli.resident.forward",
        "setpoint.cli.resident.request",
    }
    assert imported.isdisjoint({"asyncio", "click", "ssl", "socket", "msgspec", "typing"})


@pytest.mark.parametrize("words", ["logs one", "why one", "url", "get exe -o name", "why missing", "logs one --tail x"])
def test_output_and_exit_code_are_those_of_a_separate_process(quick: Quick, words: str) -> None:
    quick.run("ps")
    forked = quick.run(*words.split())
    assert forked == quick.run(*words.split(), SETPOINT_RESIDENT="off")


def test_an_unchanged_app_is_applied_by_the_resident_process(quick: Quick) -> None:
    quick.run("ps")
    assert "click" not in quick.imported("up", "-d")


def test_directory_and_environment_are_those_of_the_command(quick: Quick, tmp_path: Path) -> None:
    quick.run("ps")
    assert "\x1b[" in quick.run("ps", FORCE_COLOR="1").stdout
    assert "\x1b[" not in quick.run("ps").stdout
    elsewhere = Quick(tmp_path, quick.socket.parents[1])
    assert "no app is running here" in elsewhere.run("ps").stderr


def test_other_users_cannot_connect(quick: Quick) -> None:
    quick.run("ps")
    assert stat.S_IMODE(quick.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(quick.socket.parent.stat().st_mode) == 0o700


def test_a_malformed_request_ends_no_resident_process(quick: Quick) -> None:
    import socket

    quick.run("ps")
    for data in (b"", b"\xff" * 64, (8).to_bytes(8, "little") + b"nonsense"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(quick.socket))
            connection.sendall(data)
    assert "click" not in quick.imported("ps")


def test_the_resident_process_ends_with_the_last_app(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "setpoint.yaml").write_text(APP)
    quick = Quick(tmp_path / "app", tmp_path / "state")
    assert quick.run("up", "-d").code == 0
    assert quick.run("ps").code == 0
    assert quick.socket.exists()
    assert quick.run("down").code == 0
    deadline = time.monotonic() + PATIENCE
    while quick.socket.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not quick.socket.exists()


@pytest.mark.parametrize(
    ("words", "short"),
    [("ps", True), ("up -d", True), ("up", False), ("logs -f api", False), ("get pods -w", False), ("down", False)],
)
def test_only_short_commands_are_forwarded(monkeypatch: pytest.MonkeyPatch, words: str, short: bool) -> None:
    monkeypatch.delenv("SETPOINT_RESIDENT", raising=False)
    assert is_short(words.split()) is short
    monkeypatch.setenv("SETPOINT_RESIDENT", "off")
    assert not is_short(words.split())


def test_every_short_command_exists() -> None:
    from setpoint.cli.main import SECTIONS

    assert {name for section in SECTIONS.values() for name in section} >= COMMANDS
