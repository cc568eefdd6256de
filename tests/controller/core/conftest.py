"""A world for controllers."""

from collections.abc import AsyncIterator

import pytest
from tests.controller.core.worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a world without controllers."""
    async with new_world() as world:
        yield world
