"""Control planes for managers."""

from collections.abc import AsyncIterator

import pytest
from tests.controller.manager.worlds import Timed, new_timed, no_task_left

from setpoint.client.client import Client
from setpoint.plane import ControlPlane


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    """Provides a control plane without controllers. No task may be left."""
    async with no_task_left(), ControlPlane(system=False) as plane:
        yield plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    """Provides a client of the control plane."""
    async with plane.client() as client:
        yield client


@pytest.fixture
async def world() -> AsyncIterator[Timed]:
    """Provides a control plane whose time the test moves."""
    async with new_timed() as world:
        yield world
