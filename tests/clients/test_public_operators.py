"""Operators of other projects run unmodified under the fixture, each in an environment of its own."""

import subprocess
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
SECONDS = 600
DASK = """
from pathlib import Path
import dask_kubernetes
from dask_kubernetes.operator import make_cluster_spec
from setpoint.testing.kopf import kopf_operator

operator = kopf_operator("dask_kubernetes.operator.controller", patience=60.0)
with operator:
    client = operator.server.client
    definitions = "operator/deployment/helm/dask-kubernetes-operator/crds"
    operator.server.apply(Path(dask_kubernetes.__file__).parent / definitions)
    client.create(make_cluster_spec("simple", image="daskdev/dask", n_workers=2))
    operator.eventually(lambda: len(client.list("apps/v1/Deployment").items) == 3, within=600)
    print("scheduler and workers")
"""


def environment(name: str, *packages: str) -> Path:
    """Returns the interpreter of an environment with these packages. Skips the test if they cannot be installed."""
    place = ROOT / "build" / "operators" / name
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--editable", str(ROOT), *packages]
        done = subprocess.run(install, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode:
            pytest.skip(f"{', '.join(packages)} cannot be installed: {done.stderr[-300:]}")
        (place / "ready").touch()
    return python


def test_the_operator_of_dask() -> None:
    python = environment("dask", "dask-kubernetes")
    done = subprocess.run([python, "-c", DASK], capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "scheduler and workers\n", done.stderr[-3000:]
