"""A world for generating handlers."""

from collections.abc import AsyncIterator

import pytest
from tests.flow.generate.worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a world without the system controllers."""
    async with new_world() as world:
        yield world
