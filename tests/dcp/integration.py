"""Runs the integration tests of DCP: `python -m tests.dcp.integration setpoint|dcp` prints the outcome of each.

Their controllers run in the program of the tests, and talk to an API server that the tests start with `start-apiserver
--server-only`: DCP's, or `setpoint-dcp`. `DCP_SOURCE` is a directory with DCP's source in which `make test-prereqs` has
run. The tests write only to the given directory.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.workload.session.instances import dcp

SOURCE = os.environ.get("DCP_SOURCE", "")
SECONDS = 1500
_KNOWN = Path(__file__).parent / "integration.yaml"
_TESTS = "./test/integration"
# The address at which the simulated container engine of the tests serves logs of containers.
_SIMULATION = "--test-container-orchestrator-socket"


class Run(NamedTuple):
    """The outcome of each test (pass, fail or skip) and the output of those that failed."""

    outcomes: Mapping[str, str]
    output: Mapping[str, str]


def expected() -> frozenset[str]:
    """Returns the tests that pass with both servers."""
    return frozenset(_known()["pass"])


def different() -> list[dict[str, Any]]:
    """Returns the tests that pass only with DCP's server, with the reasons."""
    found: list[dict[str, Any]] = _known()["different"]
    return found


def _known() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_KNOWN.read_text())
    return found


def run(source: Path, directory: Path, server: str, tests: str = "") -> Run:
    """Runs the tests, or those that a pattern selects, with a server: `setpoint` or `dcp`. Tests that cannot pass with
    `setpoint` are left out: each takes a minute."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("DCP_")}
    scratch = directory / "scratch"
    scratch.mkdir(parents=True)
    # The program of the tests is built where the temporary files of Go are, and cached.
    env |= {"TMPDIR": str(scratch), "XDG_STATE_HOME": str(directory / "state"), "CGO_ENABLED": "0"}
    if server == "setpoint":
        env["OUTPUT_BIN"] = str(_stand_in(directory / "bin"))
    command = ["go", "test", "-json", "-vet=off", "-count=1", f"-timeout={SECONDS}s", _TESTS]
    if server == "setpoint":
        command += ["-skip", "|".join(f"^{name}$" for each in different() for name in each["tests"])]
    if tests:
        command += ["-run", tests]
    done = subprocess.run(
        command, cwd=source, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
    )
    return _read(done.stdout)


def _stand_in(directory: Path) -> Path:
    """Writes the program that the tests start in place of DCP's."""
    directory.mkdir()
    program = directory / "dcp"
    command = shlex.join(dcp())
    program.write_text(
        "#!/usr/bin/env bash\n"
        "kept=()\nwhile (($#)); do\n"
        f'  if [[ $1 == {_SIMULATION} ]]; then shift; else kept+=("$1"); fi\n  shift\ndone\n'
        f'exec {command} "${{kept[@]}}"\n'
    )
    program.chmod(0o755)
    return directory


def _read(text: str) -> Run:
    outcomes: dict[str, str] = {}
    output: dict[str, list[str]] = {}
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            event = {"Action": "output", "Output": line + "\n"}
        name = event.get("Test", "")
        if event.get("Action") in ("pass", "fail", "skip") and name:
            outcomes[name] = event["Action"]
        elif "Output" in event:
            output.setdefault(name, []).append(event["Output"])
    kept = {name: "".join(lines) for name, lines in output.items() if outcomes.get(name, "fail") == "fail"}
    return Run(outcomes, kept)


def main(server: str, tests: str = "") -> None:
    with tempfile.TemporaryDirectory() as directory:
        found = run(Path(SOURCE), Path(directory), server, tests)
    for name, outcome in sorted(found.outcomes.items()):
        sys.stdout.write(f"{outcome} {name}\n")
    for name, text in found.output.items():
        sys.stderr.write(f"--- {name or 'the program'}\n{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
