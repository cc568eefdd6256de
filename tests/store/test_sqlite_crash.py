"""A killed process loses nothing that it had acknowledged."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1800)
def test_no_acknowledged_commit_is_lost_however_often_the_process_is_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    times = 2000 if request.config.getoption("--long") else 100
    result = subprocess.run(
        [sys.executable, "-m", "tests.store.killing", "--times", str(times), "--seed", "1", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{times} kills, ")
    promised = int(result.stdout.split()[2])
    assert promised > times, "the processes were killed before they wrote anything"
