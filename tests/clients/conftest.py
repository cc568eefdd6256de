"""A server for every module of tests, and what its tests need of it: a namespace of their own, a kubectl in it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients.kubectl import Kubectl
from tests.clients.serving import Serving, serving
from tests.debian import require


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
    """The kubectl that the variable KUBECTL names, or the one on the path."""
    program = require(os.environ.get("KUBECTL", "kubectl"), "kubernetes-client")
    return Kubectl(program, server.kubeconfig, kubectl_cache, namespace)
