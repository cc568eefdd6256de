"""Controllers that follow kinds as they appear and disappear."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from tests.flow.chain.worlds import World, settle, until

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, TransportError
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.manager import Manager
from setpoint.controller.request import Request
from setpoint.flow.chain import Chain, EachKind, Gone, HandlerContext
from setpoint.flow.chain.each_kind import UNKNOWN_SECONDS
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"


def definition(kind: str, group: str = "example.com") -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


async def install(client: Client, kind: str, group: str = "example.com") -> None:
    made = await client.create(definition(kind, group))
    await client.wait_for(CRD, made["metadata"]["name"], "", "condition=Established")


def thing(kind: str, name: str, **spec: str) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}


def following(calls: list[str]) -> Callable[[GroupVersionKind], Chain[Object]]:
    def make(kind: GroupVersionKind) -> Chain[Object]:
        chain = Chain(kind, name=f"follow-{kind.kind.lower()}")

        @chain.on_change("there")
        async def there(ctx: HandlerContext, obj: Object) -> None:
            calls.append(f"{obj['kind']} {obj['metadata']['name']}")

        @chain.on_delete("gone")
        async def gone(ctx: HandlerContext, found: Gone[Object]) -> None:
            calls.append(f"{found.last_known['kind']} {found.last_known['metadata']['name']} gone")

        return chain

    return make


def is_ours(kind: GroupVersionKind) -> bool:
    return kind.group == "example.com"


@pytest.mark.feature("E21")
async def test_kinds_that_match_are_followed_from_when_they_appear_until_they_disappear(world: World) -> None:
    calls: list[str] = []
    each = EachKind(world.manager, following(calls), match=is_ours, debounce=0.001)
    await install(world.client, "Apple")
    await world.client.create(thing("Apple", "first"))
    world.manager.add(each)
    await until(lambda: calls == ["Apple first"])
    await install(world.client, "Pear")
    await install(world.client, "Plum", "example.org")
    await until(lambda: {kind.kind for kind in each.kinds} == {"Apple", "Pear"})
    await world.client.create(thing("Pear", "second"))
    await until(lambda: "Pear second" in calls)
    await world.client.delete(CRD, "apples.example.com")
    await until(lambda: {kind.kind for kind in each.kinds} == {"Pear"})
    # The last of it is told, and nothing of the kind is left.
    assert "Apple first gone" in calls
    assert {controller.name for controller in world.manager.controllers} == {"each-kind", "follow-pear"}
    # It may come again.
    await install(world.client, "Apple")
    await until(lambda: len(each.kinds) == 2)
    await world.client.create(thing("Apple", "third"))
    await until(lambda: "Apple third" in calls)
    await world.manager.remove(each)
    assert world.manager.controllers == []


@pytest.mark.feature("E21")
async def test_any_controller_can_follow_and_hears_that_the_last_object_is_gone(world: World) -> None:
    seen: list[object] = []

    def make(kind: GroupVersionKind) -> Controller | None:
        async def reconcile(ctx: Context, request: Request) -> None:
            found = await ctx.object()
            seen.append(None if found is None else found["metadata"]["name"])

        return None if kind.kind == "Pear" else Controller("plain", reconcile, kind=kind)

    each = EachKind(world.manager, make, match=is_ours, debounce=0.001)
    world.manager.add(each)
    for kind in ("Apple", "Pear"):
        await install(world.client, kind)
        await world.client.create(thing(kind, "a"))
    await until(lambda: seen == ["a"])
    await world.client.delete(CRD, "apples.example.com")
    await until(lambda: not each.kinds)
    assert seen[-1] is None


async def test_an_object_whose_definition_is_gone_is_not_found(world: World) -> None:
    """The cache knows that the object is gone; discovery knows no kind to name in the error."""
    seen: list[object] = []

    async def reconcile(ctx: Context, request: Request) -> None:
        if seen:
            await world.client.wait_for(CRD, "apples.example.com", "", "delete")
            ctx.client.mapper.evict(GroupVersionKind("example.com", "v1", "Apple"))
        found = await ctx.object()
        seen.append(None if found is None else found["metadata"]["name"])

    await install(world.client, "Apple")
    await world.client.create(thing("Apple", "a"))
    world.manager.add(Controller("plain", reconcile, kind="example.com/v1/Apple"))
    await until(lambda: seen == ["a"])
    await world.client.delete(CRD, "apples.example.com")
    await until(lambda: seen == ["a", None])


class Flaky:
    """A transport whose discovery can fail."""

    def __init__(self, client: Client) -> None:
        self._inner = client.transport
        self.stream = client.transport.stream
        self.failing = False
        self.failed = 0

    async def send(self, call: Call) -> Answer:
        if self.failing and call.path in ("/api", "/apis"):
            self.failed += 1
            raise TransportError("no discovery today", sent=False)
        return await self._inner.send(call)

    async def close(self) -> None:
        """The other client closes what is below."""


@pytest.mark.feature("E21", "G23")
async def test_looking_for_kinds_is_tried_again_until_it_succeeds(world: World) -> None:
    calls: list[str] = []
    flaky = Flaky(world.client)
    client = Client(flaky, clock=world.client.clock)
    async with Manager(client, graceful=0, preflight=False) as manager:
        each = EachKind(manager, following(calls), match=is_ours, debounce=0.001)
        manager.add(each)
        await until(lambda: each.working and bool(each.runs))
        await settle(each)
        flaky.failing = True
        await install(world.client, "Apple")
        await until(lambda: flaky.failed > 2)
        assert each.kinds == []
        # No definition changes any more, and yet it is found.
        flaky.failing = False
        await until(lambda: [kind.kind for kind in each.kinds] == ["Apple"])


class Silent(Flaky):
    """A transport whose discovery shows a group without the resources of a server that does not respond."""

    async def send(self, call: Call) -> Answer:
        answer = await self._inner.send(call)
        if self.failing and call.path == "/apis":
            found = msgspec.json.decode(answer.body)
            for group in found["items"]:
                if group["metadata"]["name"] == "example.com":
                    group["versions"] = [{**version, "resources": []} for version in group["versions"]]
            answer = answer._replace(body=msgspec.json.encode(found))
        return answer


@pytest.mark.feature("E21", "G23")
async def test_kinds_of_a_group_that_does_not_respond_are_kept_and_read_again(world: World) -> None:
    silent = Silent(world.client)
    client = Client(silent, clock=world.client.clock)
    await install(world.client, "Apple")
    async with Manager(client, graceful=0, preflight=False) as manager:
        each = EachKind(manager, following([]), match=is_ours, debounce=0.001)
        manager.add(each)
        await until(lambda: bool(each.kinds))
        await settle(each)
        assert each.runs[-1].requeue_after is None
        silent.failing = True
        each.refresh()
        await until(lambda: each.runs[-1].requeue_after == UNKNOWN_SECONDS)
        assert [kind.kind for kind in each.kinds] == ["Apple"]


@pytest.mark.feature("E21")
async def test_a_controller_that_cannot_be_made_keeps_no_other_kind_from_its_own(world: World) -> None:
    calls: list[str] = []
    make, broken = following(calls), True

    def made(kind: GroupVersionKind) -> Chain[Object]:
        if broken and kind.kind == "Apple":
            raise RuntimeError("not yet")
        return make(kind)

    each = EachKind(world.manager, made, match=is_ours, debounce=0.001)
    for kind in ("Apple", "Pear"):
        await install(world.client, kind)
    world.manager.add(each)
    await until(lambda: [kind.kind for kind in each.kinds] == ["Pear"])
    await until(lambda: each.runs[-1].error is not None)
    error = each.runs[-1].error
    assert isinstance(error, RuntimeError)
    assert str(error) == "not yet"
    assert error.__notes__ == ["while starting the controller of example.com/v1, Kind=Apple"]
    broken = False
    await until(lambda: {kind.kind for kind in each.kinds} == {"Apple", "Pear"})


async def test_failures_of_several_kinds_are_raised_together(world: World) -> None:
    def made(kind: GroupVersionKind) -> Chain[Object]:
        raise RuntimeError(kind.kind)

    each = EachKind(world.manager, made, match=is_ours, debounce=0.001)
    for kind in ("Apple", "Pear"):
        await install(world.client, kind)
    world.manager.add(each)
    await until(lambda: bool(each.runs) and each.runs[-1].error is not None)
    error = each.runs[-1].error
    assert isinstance(error, ExceptionGroup)
    assert sorted(map(str, error.exceptions)) == ["Apple", "Pear"]


@pytest.mark.feature("E21", "E17")
async def test_an_index_is_over_all_kinds_that_there_are_and_come(world: World) -> None:
    def color(obj: Object) -> list[str]:
        return [obj["spec"]["color"]]

    each = EachKind(world.manager, following([]), match=is_ours, debounce=0.001, indexes={"color": color})
    world.manager.add(each)
    await install(world.client, "Apple")
    await world.client.create(thing("Apple", "a", color="red"))
    await install(world.client, "Pear")
    await world.client.create(thing("Pear", "p", color="red"))
    await world.client.create(thing("Pear", "q", color="green"))
    await until(lambda: len(list(each.by_index("color", "red"))) == 2)
    assert [obj["metadata"]["name"] for obj in each.by_index("color", "green")] == ["q"]
    each.add_index("name", lambda obj: [obj["metadata"]["name"]])
    assert [obj["kind"] for obj in each.by_index("name", "a")] == ["Apple"]
    with pytest.raises(KeyError, match="known indexes: color, name"):
        next(each.by_index("size", 1))
    await asyncio.sleep(0)
