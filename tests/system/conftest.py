"""A world for system controllers."""

from collections.abc import AsyncIterator

import pytest
from tests.system.worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a control plane with all system controllers."""
    async with new_world() as world:
        yield world
