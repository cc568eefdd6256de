"""A world for leader election."""

from collections.abc import AsyncIterator

import pytest
from tests.controller.leader.worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a server whose time the test moves."""
    async with new_world() as world:
        yield world
