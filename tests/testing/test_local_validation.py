"""Objects are validated without a server, with the errors of the server."""

from copy import copy
from typing import Annotated

import pytest

import setpoint as sp
from setpoint import testing
from setpoint.api.core.v1 import ConfigMap
from setpoint.client.transport import Answer, Call, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.objects.errors import Invalid
from setpoint.schema.types import Maximum, Minimum, freeze
from setpoint.testing.local_checks import LocalChecks


class RangeSpec(sp.Model):
    """A range."""

    low: Annotated[int, Minimum(0)] = 0
    high: Annotated[int, Maximum(100)] = 10


@sp.rule("self.spec.low <= self.spec.high", message="low must not exceed high")
class Range(sp.Resource, group="example.com", version="v1"):
    """A range of numbers."""

    spec: RangeSpec


def new(low: int | None = None, high: int | None = None) -> Range:
    given = {name: value for name, value in (("low", low), ("high", high)) if value is not None}
    return Range(metadata=sp.ObjectMeta(name="r", namespace="default"), spec=RangeSpec(**given))


def test_a_valid_object_and_a_frozen_one_pass() -> None:
    sp.validate(new(low=1, high=2))
    sp.validate(freeze(new()))


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (new(low=-1), "spec.low: Invalid value: -1: spec.low in body should be greater than or equal to 0"),
        (new(high=101), "spec.high: Invalid value: 101: spec.high in body should be less than or equal to 100"),
        (new(low=5, high=4), "low must not exceed high"),
        (new(low=11), "low must not exceed high"),  # the default of `high` counts
    ],
)
async def test_the_errors_of_markers_and_rules_are_those_of_the_server(obj: Range, message: str) -> None:
    with pytest.raises(Invalid) as local:
        sp.validate(obj)
    assert message in str(local.value)
    async with testing.world(crds=[Range]) as world:
        with pytest.raises(Invalid) as remote:
            await world.client.create(obj)
    assert str(local.value) == str(remote.value)
    assert local.value.causes == remote.value.causes


def test_a_built_in_kind_is_left_to_the_server() -> None:
    with pytest.raises(TypeError, match="ConfigMap is a built-in kind"):
        sp.validate(ConfigMap(metadata=sp.ObjectMeta(name="a")))


class Recording(Forwarding):
    """Records the methods of the requests that reach the server."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.methods: list[str] = []

    async def send(self, call: Call) -> Answer:
        self.methods.append(call.method)
        return await super().send(call)


async def test_an_invalid_apply_of_a_world_does_not_reach_the_server() -> None:
    async with testing.world(crds=[Range]) as world:
        client = copy(world.plane.client())
        client.transport = recording = Recording(client.transport)
        checked = LocalChecks.of(client, {Range.gvk(): Range})
        with pytest.raises(Invalid, match="low must not exceed high"):
            await checked.apply(new(low=11), field_manager="test")
        assert "PATCH" not in recording.methods
        await checked.apply(new(low=1), field_manager="test")
        assert recording.methods.count("PATCH") == 1


async def test_the_clients_of_a_world_check_applies() -> None:
    @sp.controller(Range)
    async def ranges(ctx: sp.Context[Range], request: sp.Request) -> None:
        other = new(low=11)
        other.metadata.name = "other"
        await ctx.client.apply(other)

    async with testing.world(crds=[Range], objects=[new()]) as world:
        ran = await world.run_once(ranges, new())
        assert isinstance(ran.error, Invalid)
        assert await world.names(Range) == ["r"]


async def test_an_apply_to_an_existing_object_leaves_its_rules_to_the_server() -> None:
    async with testing.world(crds=[Range], objects=[new(low=1, high=50)]) as world:
        found = await world.client.apply(new(low=40), field_manager="test", force=True)
        assert (found.spec.low, found.spec.high) == (40, 50)
        with pytest.raises(Invalid, match="greater than or equal to 0"):
            await world.client.apply(new(low=-1), field_manager="test", force=True)
        with pytest.raises(Invalid, match="low must not exceed high"):
            await world.client.apply(new(low=60), field_manager="test", force=True)
