"""A small operator in Go with the tests that its author would write, run as they are on the executables for envtest."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.clients.serving import SECONDS

from setpoint.envtest import assets

pytestmark = pytest.mark.peers

SOURCES = Path(__file__).parent / "go" / "operator"


def test_the_tests_of_a_go_operator_pass(tmp_path: Path) -> None:
    program = os.environ.get("GO_OPERATOR")
    if not program:
        pytest.skip("the Go programs take minutes to build; `make test-peers` builds and runs them")
    assets.write(tmp_path)
    done = subprocess.run(
        [program, "-test.v"],
        cwd=SOURCES,
        env={**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3 * SECONDS,
    )
    assert done.returncode == 0, done.stdout
    tests = (SOURCES / "operator_test.go").read_text().count("\nfunc Test")
    assert done.stdout.count("--- PASS: ") == tests
