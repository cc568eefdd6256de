"""controller-runtime's own suites on our server, through the executables that envtest starts.

Every spec that passes on a real control plane passes here, but for those that `controller_runtime.yaml` names.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.clients.controller_runtime import SUITES, package, program

from setpoint.envtest import assets

pytestmark = pytest.mark.peers

BUILT = os.environ.get("CONTROLLER_RUNTIME", "")
SECONDS = 300
# These specs expect the error of a cancelled context, and see none where the informer has synced before they look: the
# race is their own. No other spec may need a second attempt.
RACE, ATTEMPTS = "to be cancelled", 3
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a suite needs to find our executables, also where it would download those of an older release."""
    written = tmp_path / "assets"
    assets.write(written)
    machine = platform.machine()
    older = f"1.28.0-{platform.system().lower()}-{ARCHITECTURES.get(machine, machine)}"
    shutil.copytree(written, tmp_path / "data" / "kubebuilder-envtest" / "k8s" / older)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    yield {
        **os.environ,
        "KUBEBUILDER_ASSETS": str(written),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "TMPDIR": str(scratch),
    }
    _end_servers(scratch)


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize("name", SUITES)
def test_a_suite_passes(name: str, environment: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not BUILT:
        pytest.skip("controller-runtime's suites take minutes to build; `make test-peers` builds and runs them")
    suite = SUITES[name]
    if suite.long and not request.config.getoption("--long"):
        pytest.skip("it takes a minute: run with --long")
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            str(program(Path(BUILT), name)),
            "-test.v",
            f"-test.timeout={SECONDS}s",
            "--ginkgo.no-color",
            f"--ginkgo.flake-attempts={ATTEMPTS}",
            f"--ginkgo.json-report={report}",
        ],
        cwd=package(Path(BUILT), name),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        errors="replace",
    )
    specs = _specs(report)
    failed = {_name(spec) for spec in specs if spec["State"] not in ("passed", "pending", "skipped")}
    assert failed == set(suite.known), done.stdout[-20_000:]
    repeated = {_name(spec) for spec in specs if spec["NumAttempts"] > 1} - failed
    assert all(name.endswith(RACE) for name in repeated), repeated
    assert _count(specs, "passed") == suite.passed
    assert _count(specs, "pending") == suite.pending
    if not suite.known:
        assert done.returncode == 0, done.stdout[-20_000:]


def _specs(report: Path) -> list[Any]:
    """The specs of a suite as ginkgo reports them; a package of plain Go tests has none."""
    if not report.exists():
        return []
    [suite] = json.loads(report.read_text())
    return [spec for spec in suite["SpecReports"] or () if spec["LeafNodeType"] == "It"]


def _name(spec: Any) -> str:
    return " ".join((*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]))


def _count(specs: list[Any], state: str) -> int:
    return sum(spec["State"] == state for spec in specs)


def _end_servers(scratch: Path) -> None:
    """Ends what a suite left running: some start servers in the middle of a spec and never stop them."""
    listed = subprocess.run(["ps", "-axww", "-o", "pid=,args="], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in listed.splitlines():
        number, _, arguments = line.strip().partition(" ")
        if str(scratch) in arguments:
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
