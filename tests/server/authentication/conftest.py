"""A server that authenticates its clients."""

from collections.abc import AsyncIterator

import pytest
from tests.server.authentication.asking import Asking, new_asking


@pytest.fixture
async def ask() -> AsyncIterator[Asking]:
    """Provides a server with the default settings."""
    async with new_asking() as ask:
        yield ask
