"""A test that ignores the signal of its time limit."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = """
import time


def test_stuck():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass


def test_after_the_stuck_one():
    pass
"""


def test_a_stuck_test_fails_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    settings = ["-c", str(ROOT / "pyproject.toml"), "-o", "timeout=0.5", "-o", "stuck_seconds=0.5"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "1", "-p", "tests.conftest", f"--rootdir={ROOT}", *settings, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in run.stdout
    assert "crashed while running" in run.stdout
    assert "in test_stuck" in run.stderr
