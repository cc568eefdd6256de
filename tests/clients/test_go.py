"""Programs on client-go and controller-runtime: Go tests that `make test-peers` builds, each of them a test here."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.clients.serving import SECONDS, Serving

SOURCES = Path(__file__).parent / "go" / "peers"
NAMES = sorted(
    name for path in SOURCES.glob("*_test.go") for name in re.findall(r"^func (Test\w+)", path.read_text(), re.M)
)


@pytest.mark.parametrize("name", NAMES)
def test_a_go_program_works(server: Serving, name: str) -> None:
    program = os.environ.get("GO_PEERS")
    if not program:
        pytest.skip("the Go programs take minutes to build; `make test-peers` builds and runs them")
    done = subprocess.run(
        [program, "-test.v", f"-test.run=^{name}$"],
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3 * SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert f"--- PASS: {name} " in done.stdout
