"""A server in any test: a state of its own, private files, clients of other libraries, no leftovers."""

import asyncio
import json
import os
import ssl
import stat
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.objects.errors import APIError, NotFound
from setpoint.testing import LocalServer
from setpoint.testing.client_libraries import MissingLibraryError

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  scope: Namespaced
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: first}
"""
CONFIG_MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}


def opened(server: LocalServer, path: str) -> Any:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    return urllib.request.urlopen(request, timeout=60, context=ssl.create_default_context(cadata=server.authority))


@pytest.mark.parametrize("number", [1, 2])
def test_every_test_has_a_server_of_its_own(setpoint_server: LocalServer, number: int) -> None:
    with pytest.raises(NotFound):
        setpoint_server.client.get("v1/ConfigMap", "mine")
    setpoint_server.apply(CONFIG_MAP)
    with opened(setpoint_server, "/api/v1/namespaces/default/configmaps/mine") as answer:
        assert json.load(answer)["metadata"]["name"] == "mine"


def test_two_servers_at_once_share_no_state_and_no_credentials() -> None:
    with LocalServer(system=False) as one, LocalServer(system=False) as other:
        one.apply(CONFIG_MAP)
        with pytest.raises(NotFound):
            other.client.get("v1/ConfigMap", "mine")
        assert one.url != other.url
        assert one.token != other.token
        assert one.authority != other.authority


def test_the_kubeconfig_is_private_and_complete(setpoint_server: LocalServer) -> None:
    path = setpoint_server.kubeconfig
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]
    found = yaml.safe_load(path.read_text())
    assert found["clusters"][0]["cluster"]["server"] == setpoint_server.url
    assert found["users"][0]["user"]["token"] == setpoint_server.token


def test_the_end_leaves_no_file_and_no_thread_and_ends_watches() -> None:
    before = set(threading.enumerate())
    with LocalServer(system=False) as server:
        watch = opened(server, "/api/v1/secrets?watch=true")
        kubeconfig = server.kubeconfig
    assert watch.read() == b""
    watch.close()
    assert not kubeconfig.parent.exists()
    assert set(threading.enumerate()) <= before


def test_manifests_are_applied_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(DEFINITION)
    for manifests in ([DEFINITION], [file], [str(file)]):
        with LocalServer(manifests=manifests, system=False) as server:
            found = server.client.get("example.com/v1/Widget", "first")
            assert found["metadata"]["namespace"] == "default"


def test_a_start_that_fails_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with (
        pytest.raises(APIError, match="nowhere"),
        LocalServer(manifests=[{**CONFIG_MAP, "metadata": {"name": "mine", "namespace": "nowhere"}}]),
    ):
        pass
    assert set(threading.enumerate()) <= before


@pytest.mark.setpoint_server(manifests=[DEFINITION], system=False)
def test_a_mark_has_the_arguments_of_the_server(setpoint_server: LocalServer) -> None:
    assert setpoint_server.client.get("example.com/v1/Widget", "first")["kind"] == "Widget"
    assert setpoint_server.plane.controllers == []


async def test_the_server_runs_beside_the_loop_of_a_test(setpoint_server: LocalServer) -> None:
    async with setpoint_server.plane.client() as client:
        del client  # belongs to the loop of the server
    assert setpoint_server.apply(CONFIG_MAP)[0]["metadata"]["name"] == "mine"


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/before")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")


def test_a_server_is_selected_and_the_selection_undone(setpoint_server: LocalServer, own_environment: None) -> None:
    with setpoint_server.selected():
        assert os.environ["KUBECONFIG"] == str(setpoint_server.kubeconfig)
        assert "KUBERNETES_SERVICE_HOST" not in os.environ
    assert os.environ["KUBECONFIG"] == "/before"
    assert os.environ["KUBERNETES_SERVICE_HOST"] == "10.0.0.1"


@pytest.mark.parametrize(
    ("module", "package"),
    [("kubernetes", "kubernetes"), ("lightkube", "lightkube"), ("kr8s", "kr8s"), ("pykube", "pykube-ng")],
)
def test_a_missing_library_is_named(
    setpoint_server: LocalServer, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name == module or name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_Missing(module), *sys.meta_path])
    with pytest.raises(MissingLibraryError, match=f"{module} is not installed: pip install {package}$"):
        getattr(setpoint_server, module)()


class _Missing:
    """A finder for which a module does not exist."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self._module:
            raise ModuleNotFoundError(f"No module named {self._module!r}", name=self._module)


# Import the libraries of other projects.


@pytest.mark.slow
def test_the_official_client_works(setpoint_server: LocalServer) -> None:
    from kubernetes.client import CoreV1Api

    core = CoreV1Api(setpoint_server.kubernetes())
    core.create_namespaced_config_map("default", {"metadata": {"name": "mine"}})
    assert core.read_namespaced_config_map("mine", "default").metadata.name == "mine"


@pytest.mark.slow
def test_the_official_client_finds_a_selected_server_and_forgets_it(
    setpoint_server: LocalServer, own_environment: None
) -> None:
    from kubernetes import config
    from kubernetes.client import Configuration, CoreV1Api

    before = Configuration.get_default_copy().host
    with setpoint_server.selected():
        config.load_kube_config()
        names = [item.metadata.name for item in CoreV1Api().list_namespace().items]
        assert Configuration.get_default_copy().host == setpoint_server.url
    assert "default" in names
    assert Configuration.get_default_copy().host == before
    assert sys.modules["kubernetes.config.kube_config"].KUBE_CONFIG_DEFAULT_LOCATION == "/before"


@pytest.mark.slow
async def test_the_asyncio_client_works(setpoint_server: LocalServer) -> None:
    from kubernetes_asyncio.client import CoreV1Api

    async with await setpoint_server.kubernetes_asyncio() as client:
        found = await CoreV1Api(client).list_namespace()
    assert "default" in [item.metadata.name for item in found.items]


@pytest.mark.slow
def test_lightkube_works(setpoint_server: LocalServer) -> None:
    from lightkube.resources.core_v1 import Namespace

    names = [item.metadata.name for item in setpoint_server.lightkube().list(Namespace)]
    assert "default" in names


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported")
def test_kr8s_works(setpoint_server: LocalServer) -> None:
    names = [item.name for item in setpoint_server.kr8s().get("namespaces")]
    assert "default" in names


@pytest.mark.slow
def test_pykube_works(setpoint_server: LocalServer) -> None:
    import pykube

    names = [item.name for item in pykube.Namespace.objects(setpoint_server.pykube())]
    assert "default" in names


def test_many_threads_use_one_client(setpoint_server: LocalServer) -> None:
    async def main() -> None:
        await asyncio.gather(
            *(
                asyncio.to_thread(setpoint_server.apply, {**CONFIG_MAP, "metadata": {"name": f"map-{number}"}})
                for number in range(8)
            )
        )

    asyncio.run(main())
    names = {item["metadata"]["name"] for item in setpoint_server.client.list("v1/ConfigMap").items}
    assert {f"map-{number}" for number in range(8)} <= names
