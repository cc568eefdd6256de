"""`setpoint demo`: the app until one ends it, for who sits at a terminal; otherwise a tour. Nothing is left of it."""

import re
import subprocess
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest
from tests.cli.view.watched import Watched
from tests.example_apps.apps import APPS, Example

COMMAND = [sys.executable, "-m", "setpoint", "demo"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """That of somebody who keeps things in one place."""
    (tmp_path / "tmp").mkdir()
    return {**Example(tmp_path, tmp_path / "state").environ, "TMPDIR": str(tmp_path / "tmp"), "TERM": "xterm"}


def left(tmp_path: Path) -> list[str]:
    """What there is of copies, and of sessions."""
    copies = (tmp_path / "tmp").glob("demo-*")
    sessions = (tmp_path / "state" / "setpoint" / "sessions").glob("shop-*")
    return sorted(path.name for path in (*copies, *sessions))


@pytest.mark.slow
def test_without_a_terminal_it_is_a_tour_that_comes_to_an_end(tmp_path: Path, environ: dict[str, str]) -> None:
    ran = subprocess.run(
        COMMAND, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    steps = re.split(r"^\$ (.*)\n", ran.stdout, flags=re.MULTILINE)
    shown = dict(zip(steps[1::2], steps[2::2], strict=True))
    assert [command.split()[1] for command in shown] == ["up", "ps", "run", "-i", "why", "-i", "down"]
    assert "ready in" in shown["setpoint up --detach"]
    assert "out of milk" in shown["setpoint why api"]
    assert re.search(r"^api .* 2/2 ", shown["setpoint ps"], re.MULTILINE)
    assert "nothing left running" in shown["setpoint down"]
    assert left(tmp_path) == []


@pytest.mark.slow
def test_who_ends_the_tour_early_ends_the_app(tmp_path: Path, environ: dict[str, str]) -> None:
    with subprocess.Popen(
        COMMAND, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as tour:
        assert tour.stdout is not None
        assert any("ready in" in line for line in tour.stdout)
        tour.terminate()
        assert "nothing left running" in tour.stdout.read()
    assert left(tmp_path) == []


@pytest.mark.slow
def test_at_a_terminal_it_runs_until_it_is_ended(tmp_path: Path, environ: dict[str, str]) -> None:
    def start(terminal: str) -> subprocess.Popen[bytes]:
        with open(terminal, "r+b", buffering=0) as own:
            # Keys come to those alone whom the terminal belongs to.
            command = ["setsid", "--ctty", *COMMAND]
            return subprocess.Popen(command, env=environ, cwd=tmp_path, stdin=own, stdout=own, stderr=own)

    with closing(Watched(start, 120, 40)) as screen:
        assert "The shop is in" in screen.until("ready in")
        assert len(left(tmp_path)) > 1
        screen.press("q")
        assert screen.ends() == 0
        assert "nothing left running" in screen.text
    assert left(tmp_path) == []


def test_a_directory_of_ones_own_keeps_it(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").touch()
    ran = subprocess.run([*COMMAND, "--dir", "taken"], env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        7,
        "Error: taken is not empty; choose a new or empty directory\n",
    )
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine"]


def test_the_package_has_all_of_it() -> None:
    packaged = resources.files("setpoint.cli.demo") / "shop"
    for path in (APPS / "shop").iterdir():
        if path.is_file():
            assert (packaged / path.name).read_bytes() == path.read_bytes()
