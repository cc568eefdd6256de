"""A test that ignores the signal of its time limit."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import time

import pytest


def wait():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def test_stuck():
    wait()


@pytest.fixture
def stuck():
    yield
    wait()


def test_with_a_stuck_teardown(stuck):
    raise ValueError


def test_after_the_stuck_ones():
    pass
"""


@pytest.mark.slow
def test_a_stuck_test_fails_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    settings = ["-c", str(ROOT / "pyproject.toml"), "-o", "timeout=0.5", "-o", "stuck_seconds=0.5"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "tests.conftest", f"--rootdir={ROOT}", *settings, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "1 passed" in run.stdout
    for test in ("test_stuck", "test_with_a_stuck_teardown"):
        assert f"crashed while running 'test_some.py::{test}'" in run.stdout
    assert "in test_stuck" in run.stderr
    assert "in stuck" in run.stderr
