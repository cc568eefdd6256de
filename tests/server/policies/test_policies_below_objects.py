"""Policies on subresources: what is written there is judged, and changed, as what it is."""

import pytest
from tests.server.policies.world import World, cases, play

from setpoint.objects.tree import Object


@pytest.mark.parametrize("case", cases("subresources"))
async def test_subresources_are_seen_as_what_they_are(world: World, case: Object) -> None:
    await play(world, case["kind"], case)
