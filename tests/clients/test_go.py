"""Programs on client-go and controller-runtime: Go tests that `make test-peers` builds, each of them a test here."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.clients.manifests import config_map
from tests.clients.serving import SECONDS, Serving, serving

pytestmark = pytest.mark.peers

SOURCES = Path(__file__).parent / "go" / "peers"
ACROSS_RESTARTS = "TestAcrossRestarts"
NAMES = sorted(
    {name for path in SOURCES.glob("*_test.go") for name in re.findall(r"^func (Test\w+)", path.read_text(), re.M)}
    - {ACROSS_RESTARTS}
)


@pytest.fixture(scope="module")
def program() -> str:
    found = os.environ.get("GO_PEERS")
    if not found:
        pytest.skip("the Go programs take minutes to build; `make test-peers` builds and runs them")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_go_program_works(program: str, server: Serving, name: str) -> None:
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


def test_an_informer_of_client_go_misses_nothing_when_the_server_starts_anew(program: str, tmp_path: Path) -> None:
    store, path = f"sqlite:{tmp_path / 'data.db'}", "/api/v1/namespaces/default/configmaps"
    names = ["first", "second", "third", "last"]
    with serving(tmp_path, store) as server:
        server.ask("POST", path, config_map("first"))
        process = subprocess.Popen(
            [program, f"-test.run=^{ACROSS_RESTARTS}$"],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig), "UNTIL": "last"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "added first\n"
        server.ask("POST", path, config_map("second"))  # it need not have arrived when the server stops
    with serving(tmp_path, store, server.url.removeprefix("https://")) as server:
        for name in names[2:]:
            server.ask("POST", path, config_map(name))
        output, _ = process.communicate(timeout=3 * SECONDS)
    assert process.returncode == 0, output
    assert re.findall("added (.+)", output) == names[1:]
