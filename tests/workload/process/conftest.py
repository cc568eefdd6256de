"""Processes of a control plane, on the event loop of `setpoint serve`."""

from collections.abc import AsyncIterator

import pytest
from tests.event_loops import LoopFactory
from tests.workload.process.stage import Stage, asleep

from setpoint.client import loop


@pytest.fixture
def loop_factory() -> LoopFactory:
    return loop.loop_factory()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """Provides a stage, of which no process may be left after the test."""
    stage = Stage()
    try:
        yield stage
    finally:
        await stage.processes.close()
    assert asleep(stage.nap) == []
