"""The manifests of the example operators are those that the commands generate."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# Runs the commands of a user.
pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["cronjob", "memcached"])
def test_the_files_of_an_operator_are_current(name: str, tmp_path: Path) -> None:
    program = f"{name}_operator.py"
    shutil.copy(EXAMPLES / name / program, tmp_path / program)
    image = f"registry.example.com/{name}:1"
    for arguments in (
        ("manifests", program, "--name", name, "--image", image, "--dir", "deploy"),
        ("image", program, "--python", "3.13", "--dir", "."),
    ):
        ran = subprocess.run(
            [sys.executable, "-m", "setpoint", "controllers", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file() and path.name != program]
    assert Path("deploy/rbac.yaml") in files
    for each in files:
        assert (EXAMPLES / name / each).read_text() == (tmp_path / each).read_text(), each
