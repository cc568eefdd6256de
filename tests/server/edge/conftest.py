"""Every test of the edge runs on both event loops it may meet."""

import pytest
from tests.server.edge.edge import LOOPS


@pytest.fixture(params=sorted(LOOPS))
def loop(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
