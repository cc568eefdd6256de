"""A cache whose requests fail on demand."""

from collections.abc import AsyncIterator

import pytest
from tests.cache.faults import World, new_world


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Provides a world with the default settings."""
    async with new_world() as world:
        yield world
