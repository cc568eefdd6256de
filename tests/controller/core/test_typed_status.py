"""The status of a typed kind: fields of its class, changes inside lists and parts, and conditions."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

import setpoint as sp
from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.tree import Object


class Part(sp.Model):
    """A part of a machine."""

    name: str
    wear: int = 0


class MachineStatus(sp.Model):
    """A status with every form of field, and with names that a mapping has as methods."""

    text: str = ""
    ready: bool = False
    note: str | None = None
    parts: list[Part] = msgspec.field(default_factory=list)
    main: Part | None = None
    items: int = 0
    values: list[str] = msgspec.field(default_factory=list)
    changed: bool = False
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class Machine(sp.Resource, group="example.com", version="v1"):
    """A machine."""

    status: MachineStatus | None = None


class StrictStatus(sp.Model):
    """A status with a required field."""

    text: str
    count: int = 0


class Strict(sp.Resource, group="example.com", version="v1"):
    """A kind with a required field in its status."""

    status: StrictStatus | None = None


MACHINE = Machine(metadata=sp.ObjectMeta(name="m", namespace="default"))
Step = Callable[[sp.Context[Machine]], Awaitable[None]]


async def status_after(step: Step, before: Object | None = None) -> tuple[Object, list[Object]]:
    """Runs a step as the reconcile of a machine, and returns the status and the statuses that were sent."""

    @sp.controller(Machine)
    async def machines(ctx: sp.Context[Machine], request: sp.Request) -> None:
        await step(ctx)

    async with testing.world(crds=[Machine], objects=[MACHINE]) as world:
        if before is not None:
            await world.client.patch_status(MACHINE, merge({"status": before}))
        ran = (await world.run_once(machines, MACHINE)).raise_error()
        found = await world.client.get("example.com/v1/Machine", "m", "default")
        sent = [msgspec.json.decode(seen.call.body)["status"] for seen in ran.requests if seen.is_write]
    return found["status"], sent


async def test_a_field_is_an_attribute_and_an_item() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        assert ctx.status.text == "old"
        ctx.status.text = "new"
        bare: sp.Context = ctx
        assert bare.status["text"] == "new"
        bare.status["text"] = "newer"
        assert ctx.status.text == "newer"

    found, sent = await status_after(step, {"text": "old"})
    assert found["text"] == "newer"
    assert sent == [{"text": "newer", "observedGeneration": 1}]


async def test_a_field_set_to_its_default_is_written_and_none_removes_a_field() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        ctx.status.ready = False
        ctx.status.note = None

    found, sent = await status_after(step, {"ready": True, "note": "x"})
    assert found["ready"] is False
    assert "note" not in found
    assert sent == [{"ready": False, "note": None, "observedGeneration": 1}]


async def test_reading_fields_writes_none_of_them() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        assert ctx.status.parts[0] == Part(name="a")
        assert ctx.status.main is None
        assert (ctx.status.text, ctx.status.values) == ("", [])

    _, sent = await status_after(step, {"parts": [{"name": "a", "wear": 0}], "observedGeneration": 1, "text": ""})
    assert sent == []


async def test_a_change_inside_a_list_or_a_part_is_written() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        ctx.status.parts.append(Part(name="b", wear=2))
        assert ctx.status.main is not None
        ctx.status.main.wear = 3
        ctx.status.values.append("v")

    found, _ = await status_after(step, {"parts": [{"name": "a"}], "main": {"name": "m", "wear": 1}})
    assert [each["name"] for each in found["parts"]] == ["a", "b"]
    assert found["main"] == {"name": "m", "wear": 3}
    assert found["values"] == ["v"]


async def test_an_assigned_part_may_be_changed_afterwards() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        part = Part(name="new")
        ctx.status.main = part
        part.wear = 7

    found, _ = await status_after(step)
    assert found["main"] == {"name": "new", "wear": 7}


async def test_a_field_hides_a_method_of_the_mapping_with_its_name() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        ctx.status.items = 5
        ctx.status.changed = True
        assert ctx.status.items == 5

    found, _ = await status_after(step)
    assert (found["items"], found["changed"]) == (5, True)


async def test_a_condition_is_set_beside_the_fields_and_the_fields_show_it() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        assert ctx.status.conditions == []
        assert ctx.condition("Ready", True, "Up")
        assert not ctx.condition("Ready", True, "Up")
        assert [each["type"] for each in ctx.status.conditions] == ["Ready"]
        ctx.status.text = "up"

    found, sent = await status_after(step)
    assert found["text"] == "up"
    assert [(each["type"], each["status"], each["reason"]) for each in found["conditions"]] == [("Ready", "True", "Up")]
    assert len(sent) == 1


async def test_an_assignment_replaces_the_status_and_keeps_its_conditions() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        ctx.condition("Ready", True, "Up")
        ctx.status = MachineStatus(text="whole")
        assert ctx.status.text == "whole"
        assert ctx.status.note is None

    found, _ = await status_after(step, {"text": "old", "note": "x"})
    assert found["text"] == "whole"
    assert "note" not in found
    assert found["conditions"][0]["type"] == "Ready"


async def test_a_field_that_the_class_does_not_have_and_a_value_of_another_type_are_refused() -> None:
    async def step(ctx: sp.Context[Machine]) -> None:
        status: Any = ctx.status
        with pytest.raises(AttributeError, match=r"^MachineStatus has no field txt: did you mean text\?$"):
            status.txt = "x"
        with pytest.raises(
            AttributeError, match=r"^MachineStatus has no field zzz: the fields are text, ready, note, parts"
        ):
            _ = status.zzz
        with pytest.raises(TypeError, match=r"^MachineStatus.text: Expected `str`, got `int`"):
            status.text = 3
        with pytest.raises(TypeError, match=r"^the status is a MachineStatus, not a StrictStatus$"):
            ctx.status = StrictStatus(text="x")

    _, sent = await status_after(step, {"observedGeneration": 1})
    assert sent == []


async def test_an_untyped_status_has_items_and_no_attributes() -> None:
    @sp.controller("example.com/v1/Machine")
    async def machines(ctx: sp.Context[dict[str, Any]], request: sp.Request) -> None:
        ctx.status["text"] = "tree"
        status: Any = ctx.status
        with pytest.raises(AttributeError, match=r"no class with a field text: use ctx.status\['text'\]$"):
            status.text = "x"

    async with testing.world(crds=[Machine], objects=[MACHINE]) as world:
        (await world.run_once(machines, MACHINE)).raise_error()
        assert (await world.client.get("example.com/v1/Machine", "m", "default"))["status"]["text"] == "tree"


async def test_a_required_field_may_be_set_but_not_read_before() -> None:
    @sp.controller(Strict)
    async def strict(ctx: sp.Context[Strict], request: sp.Request) -> None:
        with pytest.raises(AttributeError, match=r"StrictStatus.text has no value yet: set the field"):
            _ = ctx.status.text
        ctx.status.count = 2
        ctx.status.text = "set"

    one = Strict(metadata=sp.ObjectMeta(name="s", namespace="default"))
    async with testing.world(crds=[Strict], objects=[one]) as world:
        (await world.run_once(strict, one)).raise_error()
        found = await world.client.get("example.com/v1/Strict", "s", "default")
    assert found["status"] == {"text": "set", "count": 2}


async def test_undeclared_fields_of_a_part_stay() -> None:
    @sp.controller(Machine)
    async def machines(ctx: sp.Context[Machine], request: sp.Request) -> None:
        assert ctx.status.main is not None
        ctx.status.main.wear = 4

    crd = Machine.crd()
    status = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["main"]["properties"]["serial"] = {"type": "string"}
    async with testing.world() as world:
        await world.client.install(crd)
        await world.client.create(MACHINE)
        body = {"status": {"main": {"name": "m", "serial": "7"}}}
        await world.client.patch_status("example.com/v1/Machine", merge(body), "m", "default")
        (await world.run_once(machines, MACHINE)).raise_error()
        found = await world.client.get("example.com/v1/Machine", "m", "default")
    assert found["status"]["main"] == {"name": "m", "serial": "7", "wear": 4}


async def test_create_or_update_in_a_reconcile_changes_a_copy_of_a_cached_object() -> None:
    effects: list[str] = []

    @sp.controller(Machine, owns=["v1/ConfigMap"])
    async def machines(ctx: sp.Context[Machine], request: sp.Request) -> None:
        def mutate(tree: Object, is_new: bool) -> None:
            tree["data"] = {"runs": str(len(effects))}

        _, effect = await ctx.client.create_or_update("v1/ConfigMap", "c", "default", mutate)
        effects.append(effect)

    async with testing.world(crds=[Machine], objects=[MACHINE]) as world:
        for _ in range(2):
            (await world.run_once(machines, MACHINE)).raise_error()
    assert effects == ["created", "updated"]
