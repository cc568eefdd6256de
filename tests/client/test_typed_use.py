"""The types of the client, as mypy sees them for whoever uses it."""

import subprocess
import sys
from pathlib import Path

import pytest

# Runs mypy.
pytestmark = pytest.mark.slow


def test_a_program_that_uses_the_client_has_the_types_it_should_and_no_others() -> None:
    program = Path(__file__).with_name("typed_use.py")
    root = program.parents[2]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert checked.stdout == ""
    assert checked.returncode == 0
