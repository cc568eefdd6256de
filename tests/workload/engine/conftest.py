"""Provides Podman."""

from collections.abc import Iterator

import pytest
from tests.workload.podman import Service, shared


@pytest.fixture(scope="session")
def podman(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Service]:
    """A running service, one for all the processes of the run."""
    base = tmp_path_factory.getbasetemp()
    with shared((base if worker_id == "master" else base.parent) / "podman") as service:
        yield service
