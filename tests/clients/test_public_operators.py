"""Operators of other projects run unmodified under the fixture, each in an environment of its own."""

import os
import shutil
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


PASS = """
import base64, os, subprocess
from pathlib import Path
from kubernetes import config
from setpoint.testing.kopf import kopf_operator

store = Path.home() / ".password-store" / "team"
store.mkdir(parents=True)
gpg = ["gpg", "--homedir", str(Path.home() / ".gnupg"), "--batch", "--quiet", "--trust-model", "always"]
(Path.home() / ".gnupg").mkdir(mode=0o700)
secret = ["--pinentry-mode", "loopback", "--passphrase", os.environ["PASS_GPG_PASSPHRASE"]]
subprocess.run([*gpg, *secret, "--quick-generate-key", "team@example.com", "default", "default", "never"], check=True)
subprocess.run([*gpg, "-r", "team@example.com", "-o", store / "db.gpg", "-e"], input=b"swordfish", check=True)
(store / ".gpg-id").write_text("team@example.com")

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "passsecrets.secrets.premiscale.com"},
    "spec": {
        "group": "secrets.premiscale.com",
        "names": {"kind": "PassSecret", "plural": "passsecrets", "singular": "passsecret"},
        "scope": "Namespaced",
        "versions": [{
            "name": "v1alpha1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}
WANTED = {
    "apiVersion": "secrets.premiscale.com/v1alpha1",
    "kind": "PassSecret",
    "metadata": {"name": "db", "namespace": "default"},
    "spec": {"encryptedData": {"password": "db"}, "managedSecret": {"metadata": {"name": "db"}}},
}

operator = kopf_operator("passoperator.daemon", patience=60.0)
with operator:
    server = operator.server
    client = server.client
    # As its program does before it starts kopf, there for the cluster of the pod.
    config.load_kube_config(str(server.kubeconfig))
    server.apply(DEFINITION)
    client.create(WANTED)
    found = operator.eventually(lambda: client.get("v1/Secret", "db"), within=600)
    print(base64.b64decode(found["data"]["password"]).decode())
    client.delete("v1/Secret", "db")
    # A timer, once a minute.
    operator.eventually(lambda: client.get("v1/Secret", "db"), within=600)
    print("again")
    client.delete("secrets.premiscale.com/v1alpha1/PassSecret", "db")
    operator.eventually(lambda: not client.list("secrets.premiscale.com/v1alpha1/PassSecret").items, within=600)
    print([item["metadata"]["name"] for item in client.list("v1/Secret", "default").items if item["type"] == "Opaque"])
"""


@pytest.mark.skipif(shutil.which("gpg") is None, reason="pass-operator decrypts with gpg, which is not installed")
def test_the_operator_of_the_password_store(tmp_path: Path) -> None:
    """pass-operator decrypts files of a password store into Secrets. Its definition is in a chart, not in the package,
    so the test has one of its own. Its program also pulls a git repository, which is not part of the operator."""
    python = environment("pass", "pass-operator")
    own = {"HOME": str(tmp_path), "PASS_DIRECTORY": "team", "PASS_GPG_KEY_ID": "team@example.com"}
    own["PASS_GPG_PASSPHRASE"] = "open sesame"
    try:
        done = subprocess.run(
            [python, "-c", PASS], capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **own}
        )
    finally:
        # gpg leaves an agent behind.
        subprocess.run(["gpgconf", "--homedir", str(tmp_path / ".gnupg"), "--kill", "all"], check=False)
    assert done.stdout == "swordfish\nagain\n[]\n", done.stderr[-3000:]


PREFECT = """
import asyncio
from uuid import UUID
from prefect import flow, get_client
from prefect.testing.utilities import prefect_test_harness
from setpoint.client.patches import merge
from setpoint.testing.kopf import kopf_operator

@flow
def nightly() -> None: ...

async def new_run():
    async with get_client() as client:
        return await client.create_flow_run(nightly)

async def read_state(run: UUID) -> str:
    async with get_client() as client:
        return (await client.read_flow_run(run)).state.name

with prefect_test_harness(server_startup_timeout=300):
    run = asyncio.run(new_run())
    labels = {"prefect.io/flow-run-id": str(run.id), "prefect.io/flow-run-name": run.name}
    of_run = {"name": "run", "namespace": "default", "labels": labels}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/flow"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    time = "2026-01-01T00:00:00Z"
    failed = [
        {"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": time}
        for kind in ("FailureTarget", "Failed")
    ]
    operator = kopf_operator("prefect_kubernetes.observer", patience=60.0)
    with operator:
        client = operator.server.client
        job = {"backoffLimit": 0, "template": template}
        client.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": of_run, "spec": job})
        client.create({"apiVersion": "v1", "kind": "Pod", "metadata": of_run, "spec": pod})
        for state in ("InfrastructurePending", "Crashed"):
            operator.eventually(lambda: asyncio.run(read_state(run.id)) == state, within=600)
            print(state)
            status = {"status": {"failed": 1, "startTime": time, "conditions": failed}}
            client.patch("batch/v1/Job", merge(status), "run", "default", subresource="status")
"""


def test_the_observer_of_prefect(tmp_path: Path) -> None:
    """prefect-kubernetes reports pods and jobs of flow runs to a server of Prefect, which the test starts. The observer
    waits half a minute before it reports a crash: the time is virtual. Later releases of FastAPI do not run that
    server."""
    python = environment("prefect", "prefect-kubernetes", "fastapi<0.150")
    own = {"HOME": str(tmp_path), "PREFECT_HOME": str(tmp_path / "prefect"), "PREFECT_LOGGING_LEVEL": "ERROR"}
    done = subprocess.run(
        [python, "-c", PREFECT], capture_output=True, text=True, timeout=SECONDS, env={**os.environ, **own}
    )
    assert done.stdout.splitlines()[-2:] == ["InfrastructurePending", "Crashed"], (done.stdout + done.stderr)[-3000:]
