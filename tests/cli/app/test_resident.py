"""Short commands run in forks of a resident process: same output, no imports."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran

import setpoint
from setpoint.cli.resident.peer import resident_processes
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
        self.state = state / "setpoint"

    @property
    def sockets(self) -> list[Path]:
        return sorted(self.state.glob("resident-*.sock"))

    @property
    def socket(self) -> Path:
        [found] = self.sockets
        return found

    def run(self, *words: str, wrapper: tuple[str, ...] = (), **environ: str) -> Ran:
        command = [*wrapper, sys.executable, "-m", "setpoint", *words]
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
    elsewhere = Quick(tmp_path, quick.state.parent)
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


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory with a short name: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextmanager
def running(directory: Path) -> Iterator[Quick]:
    """Starts an app of its own, with a resident process."""
    (directory / "app").mkdir()
    (directory / "app" / "setpoint.yaml").write_text(APP)
    quick = Quick(directory / "app", directory / "state")
    assert quick.run("up", "-d").code == 0
    assert quick.run("ps").code == 0
    assert len(quick.sockets) == 1
    try:
        yield quick
    finally:
        quick.run("down")


def wait_until(is_done: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_resident_process_ends_with_the_last_app(short_path: Path) -> None:
    with running(short_path) as quick:
        [pid] = resident_processes(quick.state)
        assert quick.run("down").code == 0
        wait_until(lambda: not quick.sockets)
        wait_until(lambda: not is_running(pid))


def test_the_resident_process_ends_when_its_socket_is_deleted(short_path: Path) -> None:
    with running(short_path) as quick:
        [pid] = resident_processes(quick.state)
        quick.socket.unlink()
        wait_until(lambda: not is_running(pid))
        assert quick.run("ps").code == 0
        assert len(quick.sockets) == 1


def test_the_resident_process_ends_when_a_module_has_changed(tmp_path: Path, short_path: Path) -> None:
    copied = tmp_path / "copied" / "setpoint"
    shutil.copytree(Path(setpoint.__file__).parent, copied, ignore=shutil.ignore_patterns("__pycache__"))
    with running(short_path) as quick:
        quick.socket.unlink()
        quick.environ["PYTHONPATH"] = str(copied.parent)
        assert quick.run("ps").code == 0
        [pid] = resident_processes(quick.state)
        os.utime(copied / "cli" / "main.py", (1, 1))
        assert quick.run("ps").code == 0
        wait_until(lambda: not is_running(pid))


@pytest.mark.parametrize("wrapper", ["nice -n 5", "prlimit --nofile=512:512", "taskset -c 0"])
def test_commands_with_other_limits_have_their_own_resident_process(quick: Quick, wrapper: str) -> None:
    words = tuple(wrapper.split())
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    if words[0] == "taskset" and len(os.sched_getaffinity(0)) == 1:
        pytest.skip("this process may use only one processor")
    quick.run("ps")
    before = set(quick.sockets)
    names = ("get", "exe", "-o", "name")
    assert quick.run(*names, wrapper=words) == quick.run(*names, wrapper=words) == quick.run(*names)
    [added] = set(quick.sockets) - before
    added.unlink()


def test_doctor_names_the_resident_process(quick: Quick) -> None:
    quick.run("ps")
    [pid] = resident_processes(quick.state)
    assert f"process {pid} runs short commands" in quick.run("doctor", "-o", "json").stdout


def test_a_directory_that_others_can_write_has_no_resident_process(short_path: Path) -> None:
    with running(short_path) as quick:
        quick.state.chmod(0o777)
        assert "click" in quick.imported("ps")
        quick.socket.unlink()
        quick.run("ps")
        assert quick.sockets == []
        quick.state.chmod(0o700)


def is_running(pid: int | None) -> bool:
    assert pid is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


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
