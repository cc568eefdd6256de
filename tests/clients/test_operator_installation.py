"""An operator is installed, upgraded and removed with the files that `setpoint controllers` generates, by kubectl.

The operator runs as the generated ServiceAccount with exactly the generated roles. Its Deployment does not run here,
for lack of a node: the test runs the command of the container.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.clients.kubectl import Kubectl
from tests.clients.operating import eventually
from tests.clients.serving import SECONDS, Serving, serving

# Starts several programs.
pytestmark = pytest.mark.slow

OPERATORS = Path(__file__).parent / "operators"
SHOPS = "/apis/example.com/{version}/namespaces/{namespace}/shops"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.example.com"


@pytest.fixture(scope="module")
def port() -> int:
    """The port of the webhooks."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Serving]:
    more = ["--webhook-service", f"shop-system/shop-webhooks=127.0.0.1:{port}"]
    with serving(tmp_path_factory.mktemp("server"), controllers="*", more=more) as served:
        yield served


class Project:
    """A directory with an operator, and its generated files."""

    def __init__(self, directory: Path, server: Serving, port: int) -> None:
        self.directory, self._server, self._port = directory, server, port

    def use(self, program: str) -> None:
        """Writes a version of the operator, and generates the files of its installation."""
        shutil.copy(OPERATORS / program, self.directory / "shop.py")
        ran = subprocess.run(
            [*self._setpoint, "manifests", "shop.py", "--image", "shop:1", "--dir", "deploy"],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert ran.returncode == 0, ran.stderr

    @contextmanager
    def running(self) -> Iterator[Path]:
        """Runs the command of the container as its service account; the path of its log."""
        kubeconfig, log = self.directory / "kubeconfig", self.directory / "log"
        kubeconfig.write_text(yaml.safe_dump(self._kubeconfig()))
        [container] = self._deployment()["spec"]["template"]["spec"]["containers"]
        arguments = [each for each in container["args"] if not each.startswith(("--health", "--metrics"))]
        assert arguments[:2] == ["controllers", "run"]
        arguments += ["--webhook-address", f"127.0.0.1:{self._port}", "--kubeconfig", str(kubeconfig)]
        with log.open("w") as output:
            process = subprocess.Popen(
                [*self._setpoint[:-1], *arguments],
                cwd=self.directory,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            )
        try:
            yield log
            assert process.poll() is None, log.read_text()
        finally:
            process.terminate()
            process.wait(SECONDS)
        text = log.read_text()
        assert "Traceback" not in text, text
        assert "forbidden" not in text, text
        assert "missing RBAC rule" not in text, text

    @property
    def _setpoint(self) -> list[str]:
        return [sys.executable, "-m", "setpoint", "controllers"]

    def _deployment(self) -> Any:
        return yaml.safe_load((self.directory / "deploy" / "deployment.yaml").read_text())

    def _kubeconfig(self) -> Any:
        path = "/api/v1/namespaces/shop-system/serviceaccounts/shop/token"
        token = self._server.ask("POST", path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        found = yaml.safe_load(self._server.kubeconfig.read_text())
        found["users"] = [{"name": "shop", "user": {"token": token}}]
        [context] = found["contexts"]
        context["context"] |= {"user": "shop", "namespace": "shop-system"}
        return found


def shop(version: str, name: str, **spec: Any) -> Any:
    return {"apiVersion": f"example.com/{version}", "kind": "Shop", "metadata": {"name": name}, "spec": spec}


def test_an_operator_is_installed_upgraded_and_removed(
    kubectl: Kubectl, server: Serving, namespace: str, tmp_path: Path, port: int
) -> None:
    first, second = (SHOPS.format(version=version, namespace=namespace) for version in ("v1", "v2"))
    project = Project(tmp_path, server, port)
    deploy = str(tmp_path / "deploy")
    install = kubectl._replace(namespace="shop-system")

    project.use("shop_v1.py")
    install("apply", "-k", deploy)
    with project.running() as log:
        eventually(lambda: "shop" in server.names("/apis/coordination.k8s.io/v1/namespaces/shop-system/leases"), log)
        server.ask("POST", first, shop("v1", "corner", sign="open"))
        eventually(lambda: server.get(f"{first}/corner").get("status", {}).get("text") == "open", log)
        assert server.get(f"/api/v1/namespaces/{namespace}/configmaps/corner")["data"] == {"sign": "open"}
        events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        eventually(lambda: any(each["reason"] == "Written" for each in server.get(events)["items"]), log)

    project.use("shop_v2.py")
    assert "shops.example.com configured" in install("apply", "-k", deploy)
    with project.running() as log:
        eventually(lambda: server.get(DEFINITION)["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle"), log)
        eventually(lambda: server.get(f"{second}/corner").get("status", {}).get("text") == "1 signs", log)
        assert server.get(f"{second}/corner")["spec"] == {"signs": ["open"]}
        server.merge(f"{second}/corner", {"spec": {"signs": ["open", "sale"]}})
        assert server.get(f"{first}/corner")["spec"] == {"sign": "open; sale"}
        refused = kubectl.refused("apply", "-f", "-", stdin=shop("v2", "wrong", signs=[""]))
        assert "a sign must not be empty: see spec.signs" in refused
        # Applying the same files again keeps the certificate that the operator wrote.
        install("apply", "-k", deploy)
        assert server.get(DEFINITION)["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]

        assert server.get(DEFINITION)["status"]["storedVersions"] == ["v1", "v2"]
        ran = subprocess.run(
            [sys.executable, "-m", "setpoint", "controllers", "migrate", "shops.example.com"],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert ran.stdout == "shops.example.com: 1 object rewritten\n", ran.stderr
        assert server.get(DEFINITION)["status"]["storedVersions"] == ["v2"]
        server.ask("DELETE", f"{second}/corner")

    install("delete", "--ignore-not-found", "-k", deploy)
    assert "shop-system" not in server.names("/api/v1/namespaces")
    assert "shops.example.com" not in server.names(DEFINITION.rpartition("/")[0])
    assert not [name for name in server.names("/apis/rbac.authorization.k8s.io/v1/clusterroles") if "shop" in name]
