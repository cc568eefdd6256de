"""Records the answers of an instance: `python -m tests.dcp.record /path/to/dcp [containers]`. The program is started
here; with the argument `setpoint`, prints the scenarios in which setpoint-dcp differs from the record."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tests.dcp.container_scenarios import CONTAINER_SCENARIOS
from tests.dcp.engine import podman
from tests.dcp.registry import Scenario
from tests.dcp.scenarios import SCENARIOS
from tests.dcp.talk import Talk
from tests.workload.session.instances import Instance, dcp, environment, until

RECORD = Path(__file__).parent / "recorded.json"
CONTAINER_RECORD = Path(__file__).parent / "recorded_containers.json"
_AT_ONCE = 6
_END_SECONDS = 30


def answers(
    program: list[str],
    directory: Path,
    scenarios: Mapping[str, Scenario] = SCENARIOS,
    engine: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Returns the answers of a program to all scenarios. `engine` are the variables of a container engine."""
    kubeconfig = directory / "kubeconfig"
    command = [*program, "start-apiserver", "--kubeconfig", str(kubeconfig)]
    # An engine that is requested and absent: no other one is used.
    absent = {"DOCKER_HOST": f"unix://{directory}/no-engine.sock"}
    env = environment(
        directory, DCP_SESSION_FOLDER=str(directory / "session"), **(absent if engine is None else engine)
    )
    if engine is not None:
        command += ["--container-runtime", "podman"]
    (directory / "session").mkdir()
    with (
        open(directory / "log", "wb") as log,
        subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=directory) as process,
    ):
        try:
            until(kubeconfig.exists, 60)
            serving = Instance(process, kubeconfig)  # type: ignore[arg-type]
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                names = enumerate(sorted(scenarios))
                running = {name: pool.submit(_answer, serving, scenarios[name], f"s{number}") for number, name in names}
                return {name: future.result() for name, future in running.items()}
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _answer(serving: Instance, scenario: Scenario, prefix: str) -> Any:
    try:
        # As read from the record: tuples become lists.
        return json.loads(json.dumps(scenario(Talk(serving, prefix))))
    except (AssertionError, KeyError, TypeError, ValueError, OSError) as error:
        return {"failed": type(error).__name__}


def recorded(record: Path = RECORD) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(record.read_text())
    return found


def main(program: str, which: str = "") -> None:
    record = CONTAINER_RECORD if which else RECORD
    with tempfile.TemporaryDirectory() as directory, podman() if which else nullcontext() as engine:
        command = dcp() if program == "setpoint" else [program]
        found = answers(command, Path(directory), CONTAINER_SCENARIOS if which else SCENARIOS, engine)
    if program == "setpoint":
        known = recorded(record)
        for name, answer in found.items():
            if answer != known.get(name):
                sys.stdout.write(f"{name}\n  dcp:  {json.dumps(known.get(name))}\n  ours: {json.dumps(answer)}\n")
        return
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(found.items()))
    record.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
