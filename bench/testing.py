"""Measures the same five tests of one operator with several harnesses: CPU and wall seconds for 1 and for 100 tests.

    python -m bench testing
    TESTS=20 python -m bench testing

Each run is a process of its own, in an environment with kopf and kmock (`build/operators/testing-bench`, created on
first use). The CPU time is that of the process and of all processes it started, such as kube-apiserver and etcd
(`make oracle` builds them). A harness that is not available is named with the reason. kind is not among them, because
it needs a container engine with privileged containers.
"""

import os
import subprocess
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / "build" / "operators" / "testing-bench"
PACKAGES = ("kopf", "kmock", "kubernetes", "pytest")
HARNESSES = {
    "setpoint-world": "Setpoint: a world, the operator in the SDK",
    "setpoint-kopf": "Setpoint: the kopf fixture, a new server per test",
    "kmock": "kmock 0.8: kopf.operator on the emulator",
    "kopf-runner": "KopfRunner on one Setpoint server",
    "envtest": "KopfRunner on one kube-apiserver and etcd",
}
_INSTALL_SECONDS = 600


class Spent(NamedTuple):
    """The CPU and wall seconds of a run."""

    cpu: float
    wall: float


def figures() -> Iterator[Figure]:
    python = _environment()
    if isinstance(python, str):
        print(f"the packages cannot be installed: {python}")
        return
    many = int(os.environ.get("TESTS", "100"))
    for name, title in HARNESSES.items():
        if name == "envtest" and not (ROOT / "build" / "peers" / "kube-apiserver").exists():
            print(f"{title}: not built; run `make oracle`")
            continue
        for count in (1, many):
            spent = _run(python, name, count)
            if isinstance(spent, str):
                print(f"{title}: failed: {spent}")
                break
            tests = "1 test" if count == 1 else f"{count} tests"
            yield Figure(f"{title}, {tests}", spent.cpu, "s CPU", "wall", spent.wall)


def _environment() -> Path | str:
    """Returns the interpreter of the environment, or the reason why there is none."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "ready").exists():
        venv.create(ENVIRONMENT, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--editable", str(ROOT), *PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
        if done.returncode:
            return done.stderr[-300:]
        (ENVIRONMENT / "ready").touch()
    return python


def _run(python: Path, name: str, count: int) -> Spent | str:
    """Runs tests in a process; returns the cost of the process and its children, or the end of its output."""
    command = [str(python), "-m", "bench.operator_tests.run", name, str(count)]
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if process.returncode or not text.endswith(f"{count} passed\n"):
        return text[-500:]
    return Spent(usage.ru_utime + usage.ru_stime, wall)
