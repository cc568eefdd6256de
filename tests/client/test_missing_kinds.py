"""That a kind is not there is believed for a moment: who asks all the time does not ask the server each time."""

from copy import copy
from datetime import UTC, datetime

import pytest

from setpoint.client.client import Client
from setpoint.client.mapper import MISSING_SECONDS, Mapper, NoMatch
from setpoint.client.transport import Answer, Call
from setpoint.objects.clock import ManualClock
from setpoint.objects.gvk import GroupKind
from setpoint.plane import ControlPlane
from setpoint.schema.types import Model, Resource

pytestmark = pytest.mark.feature("E44")


class LateSpec(Model):
    """What it should be."""


class Late(Resource, group="late.example.com", version="v1"):
    """A kind whose definition comes later."""

    spec: LateSpec


async def test_a_missing_kind_is_asked_for_once_in_a_while_and_found_once_it_is_there() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with ControlPlane(clock=clock, system=False) as plane, plane.client() as other, plane.client() as client:
        asked: list[Call] = []

        async def send(call: Call) -> Answer:
            asked.append(call)
            return await client.send(call)

        counted = copy(client)
        counted.mapper = Mapper(send, clock)

        async def miss() -> int:
            """Asks a few times; how many requests that takes."""
            before = len(asked)
            for _ in range(5):
                with pytest.raises(NoMatch, match="is its definition installed"):
                    await counted.list(Late)
            return len(asked) - before

        await miss()
        assert await miss() == 0
        clock.advance(MISSING_SECONDS)
        assert await miss() == 1  # the group, which is not there
        await other.create(Late.crd())
        with pytest.raises(NoMatch):
            await counted.list(Late)
        clock.advance(MISSING_SECONDS)
        assert (await counted.list(Late)).items == []


async def test_who_hears_of_definitions_looks_again_at_once() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as other, plane.client() as client:
        await _miss(client)
        await other.create(Late.crd())
        await client.wait_for(
            "apiextensions.k8s.io/v1/CustomResourceDefinition", "lates.late.example.com", "", "condition=Established"
        )
        assert (await client.list(Late)).items == []


async def test_the_preferred_version_of_what_is_missing_is_not_asked_for_each_time() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    async with ControlPlane(clock=clock, system=False) as plane, plane.client() as client:
        asked: list[Call] = []

        async def send(call: Call) -> Answer:
            asked.append(call)
            return await client.send(call)

        mapper = Mapper(send, clock)
        counts = []
        for _ in range(3):
            with pytest.raises(NoMatch):
                await mapper.preferred(GroupKind("late.example.com", "Late"))
            counts.append(len(asked))
        assert counts[0] == counts[1] == counts[2]


async def _miss(client: Client) -> None:
    with pytest.raises(NoMatch):
        await client.list(Late)


async def test_everything_there_is_is_asked_for_anew_unless_what_was_heard_will_do() -> None:
    async with ControlPlane(system=False) as plane, plane.client() as client:
        asked: list[Call] = []

        async def send(call: Call) -> Answer:
            asked.append(call)
            return await client.send(call)

        mapper = Mapper(send)
        first = await mapper.resources(refresh=False)
        told = len(asked)
        assert told
        assert await mapper.resources(refresh=False) == first
        assert len(asked) == told
        await client.install(Late)
        assert Late.gvk() not in [each.gvk for each in await mapper.resources(refresh=False)]
        assert Late.gvk() in [each.gvk for each in await mapper.resources()]
