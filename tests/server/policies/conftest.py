"""A server with admission policies."""

from collections.abc import AsyncIterator

import pytest
from tests.server.policies.world import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a server without policies."""
    async with new_world() as world:
        yield world
