"""A server that calls webhooks."""

from collections.abc import AsyncIterator

import pytest
from tests.server.webhooks.world import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a server without webhooks."""
    async with new_world() as world:
        yield world
