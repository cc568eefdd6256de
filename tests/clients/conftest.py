"""A server for every module of tests, and what its tests need of it: a namespace of their own, a kubectl in it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.serving import Serving, serving
from tests.debian import require, unpacked


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that run kubectl."""
    for item in items:
        if isinstance(item, pytest.Function) and "kubectl" in item.fixturenames:
            item.add_marker(pytest.mark.kubectl)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture
def namespace(server: Serving, request: pytest.FixtureRequest) -> str:
    """A new namespace, with the name of the test."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:60].strip("-")
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture(scope="module")
def kubectl_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def kubectl(server: Serving, namespace: str, kubectl_cache: Path) -> Kubectl:
    return Kubectl(kubectl_program(), server.kubeconfig, kubectl_cache, namespace)


def kubectl_program() -> str:
    """The kubectl that the variable KUBECTL names, as `make test-peers` does with a current one; else Debian's, which
    is years older; else the one on the path."""
    found = os.environ.get("KUBECTL") or unpacked("kubernetes-client", "usr/bin/kubectl")
    return str(found) if found else require("kubectl", "kubernetes-client")
