"""Policies on subresources: what is written there is judged, and changed, as what it is."""

import pytest
from tests.server.policies.world import cases, play, run

from setpoint.objects.tree import Object


@pytest.mark.parametrize("case", cases("subresources"))
def test_subresources_are_seen_as_what_they_are(case: Object) -> None:
    run(lambda world: play(world, case["kind"], case))
