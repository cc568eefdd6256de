"""A world for state machines."""

from collections.abc import AsyncIterator

import pytest
from tests.flow.fsm.worlds import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a world with the time of the machine."""
    async with new_world() as world:
        yield world
