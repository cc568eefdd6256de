"""Servers in this process, each for one test."""

from collections.abc import AsyncIterator

import pytest
from tests.server.authorization.cluster import Cluster, new_cluster
from tests.server.write.api import Api, new_api


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Provides a server without authorization."""
    async with new_api() as api:
        yield api


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """Provides a server with RBAC."""
    async with new_cluster() as cluster:
        yield cluster
