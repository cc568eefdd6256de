"""A server that converts objects."""

from collections.abc import AsyncIterator

import pytest
from tests.server.conversion.widgets import Widgets, new_widgets


@pytest.fixture
async def widgets() -> AsyncIterator[Widgets]:
    """Provides a server whose widgets are converted by a webhook."""
    async with new_widgets() as widgets:
        yield widgets
