"""Records the answers of an instance: `python -m tests.dcp.record /path/to/dcp`. The program is started here; with the
argument `setpoint`, prints the scenarios in which setpoint-dcp differs from the record."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.dcp.scenarios import SCENARIOS
from tests.dcp.talk import Talk
from tests.workload.session.instances import Instance, dcp, environment, until

RECORD = Path(__file__).parent / "recorded.json"
_AT_ONCE = 6
_END_SECONDS = 30


def answers(program: list[str], directory: Path) -> dict[str, Any]:
    """Returns the answers of a program to all scenarios."""
    kubeconfig = directory / "kubeconfig"
    command = [*program, "start-apiserver", "--kubeconfig", str(kubeconfig)]
    env = environment(directory, DCP_SESSION_FOLDER=str(directory / "session"))
    (directory / "session").mkdir()
    with (
        open(directory / "log", "wb") as log,
        subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=directory) as process,
    ):
        try:
            until(kubeconfig.exists, 60)
            serving = Instance(process, kubeconfig)  # type: ignore[arg-type]
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                names = enumerate(sorted(SCENARIOS))
                running = {name: pool.submit(_answer, serving, name, f"s{number}") for number, name in names}
                return {name: future.result() for name, future in running.items()}
        finally:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _answer(serving: Instance, name: str, prefix: str) -> Any:
    try:
        # As read from the record: tuples become lists.
        return json.loads(json.dumps(SCENARIOS[name](Talk(serving, prefix))))
    except (AssertionError, KeyError, TypeError, ValueError, OSError) as error:
        return {"failed": type(error).__name__}


def recorded() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(RECORD.read_text())
    return found


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        found = answers(dcp() if program == "setpoint" else [program], Path(directory))
    if program == "setpoint":
        known = recorded()
        for name, answer in found.items():
            if answer != known.get(name):
                sys.stdout.write(f"{name}\n  dcp:  {json.dumps(known.get(name))}\n  ours: {json.dumps(answer)}\n")
        return
    lines = (f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in sorted(found.items()))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
