"""The event loops on which the edge runs."""

import pytest
from tests.event_loops import LoopFactory
from tests.server.edge.edge import LOOPS


@pytest.fixture(params=sorted(LOOPS))
def loop_factory(request: pytest.FixtureRequest) -> LoopFactory:
    """Runs each test on both event loops."""
    return LOOPS[request.param]
