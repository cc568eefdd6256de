"""Commands that only ask: what each takes from the start of the interpreter to its end, beside an interpreter that does
nothing and, where it is installed, `kubectl get` on the same server. The best of all rounds counts.

Bytecode is kept in a directory of its own, as an installed package has it, whatever the environment says.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure

ROUNDS = 15
ASKING_SECONDS, HELP_SECONDS = 0.2, 0.08
_APP = """
apiVersion: usvc-dev.developer.microsoft.com/v1
kind: Service
metadata: {name: web}
spec: {}
---
apiVersion: usvc-dev.developer.microsoft.com/v1
kind: Executable
metadata: {name: api}
spec: {executablePath: sh, args: [-c, "seq 100; exec sleep 1000"], serves: [{service: web, port: 1}]}
"""
_ASKING = (
    "ps",
    "why api",
    "history exe/api",
    "diff exe/api",
    "trace exe/api",
    "logs api",
    "get executables",
    "top",
    "url",
)
_COMPLETING = {"_SETPOINT_COMPLETE": "bash_complete", "COMP_WORDS": "setpoint get executables ", "COMP_CWORD": "3"}


class Spent(NamedTuple):
    """What a process took: seconds of processor and of the wall, and KiB at its largest."""

    cpu: float
    wall: float
    memory: float

    def best(self, other: "Spent") -> "Spent":
        return Spent(*map(min, self, other))


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as directory, _served(Path(directory)) as environ:
        python = [sys.executable, "-m", "setpoint"]
        ran: dict[str, tuple[list[str], Mapping[str, str]]] = {
            "python -c pass": ([sys.executable, "-c", "pass"], environ),
            "--help": ([*python, "--help"], environ),
            "completion of a name": (python, {**environ, **_COMPLETING}),
            **{words: ([*python, *words.split()], environ) for words in _ASKING},
        }
        if kubectl := shutil.which("kubectl"):
            ran["kubectl get executables"] = ([kubectl, "get", "executables"], environ)
        found = {name: _spent(*how) for name, how in ran.items()}  # what is written at the first run is written now
        for _ in range(ROUNDS):
            for name, how in ran.items():
                found[name] = found[name].best(_spent(*how))
    plain = found.pop("python -c pass")
    for name, spent in found.items():
        yield from _figures(name, spent, plain)


def _figures(name: str, spent: Spent, plain: Spent) -> Iterator[Figure]:
    ours = not name.startswith("kubectl")
    most = HELP_SECONDS if name == "--help" else ASKING_SECONDS
    shown = f"setpoint {name}" if ours else name
    yield Figure(
        f"{shown}: processor",
        spent.cpu * 1e3,
        "ms",
        "python -c pass",
        plain.cpu * 1e3,
        f"{most * 1e3:g} ms or less" if ours else "",
        spent.cpu <= most if ours else None,
    )
    yield Figure(f"{shown}: until it has ended", spent.wall * 1e3, "ms", "python -c pass", plain.wall * 1e3)
    if spent.memory > plain.memory:  # what is less than we have ourselves is not told apart from it
        yield Figure(f"{shown}: memory", spent.memory / 1024, "MiB")


def _spent(command: list[str], environ: Mapping[str, str]) -> Spent:
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    with process.stderr as said:
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: {said.read().decode()}")
    return Spent(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss)


@contextmanager
def _served(directory: Path) -> Iterator[dict[str, str]]:
    """A server with something that runs; the environment of those who ask it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ = {
        **kept,
        "HOME": str(directory),
        "XDG_STATE_HOME": str(directory / "state"),
        "PYTHONPYCACHEPREFIX": str(directory / "bytecode"),
        "KUBECONFIG": str(directory / "kubeconfig"),
    }
    python = [sys.executable, "-m", "setpoint"]
    serve = [*python, "serve", "--workloads", "--listen", "127.0.0.1:0", "--kubeconfig", environ["KUBECONFIG"]]
    with subprocess.Popen(serve, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            if not server.stdout.readline().startswith("ready "):
                raise RuntimeError("the server did not start")
            applying = [*python, "apply", "-f", "-"]
            subprocess.run(applying, input=_APP, env=environ, text=True, check=True, stdout=subprocess.DEVNULL)
            waiting = [*python, "wait", "exe/api", "--for", "jsonpath={.status.state}=Running", "--timeout", "60s"]
            subprocess.run(waiting, env=environ, check=True, stdout=subprocess.DEVNULL)
            yield environ
        finally:
            server.terminate()
