"""Whatever goes wrong on the way (a crash after any write, a view that is old, conflicts), the end is the same: every
object labelled, with its one child, and after a deletion nothing left of either."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from tests.controller.core.hurry import HurriedClock
from tests.flow.chain.worlds import CONFIG_MAP, PATIENCE, config_map, until

from setpoint.cache.cache import Cache
from setpoint.client.client import Client
from setpoint.client.patches import merge
from setpoint.client.transport import Transport
from setpoint.flow.chain import Chain, HandlerContext
from setpoint.objects.errors import AlreadyExists, Conflict, NotFound
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane
from setpoint.testing import Faults

SECRET = "v1/Secret"
ONE, TWO = "example.com/child", "example.com/books"


def chain_of(books: dict[str, str]) -> Chain[Object]:
    """Labels an object, writes it into the books, and makes a secret for it under a name of the server's choice."""
    chain = Chain(CONFIG_MAP, name="keeper", reads=[SECRET], concurrency=2)

    @chain.on_change("label")
    async def label(ctx: HandlerContext, obj: Object) -> Object | None:
        if "zone" in obj["metadata"].get("labels", {}):
            return None
        body = {"metadata": {"labels": {"zone": "a"}, "resourceVersion": obj["metadata"]["resourceVersion"]}}
        found: Object = await ctx.client.patch(CONFIG_MAP, merge(body), obj["metadata"]["name"], "default")
        return found

    @chain.on_change("child", after=["label"])
    async def child(ctx: HandlerContext, obj: Object) -> None:
        name = obj["metadata"]["name"]
        assert obj["metadata"]["labels"]["zone"] == "a"
        if not (await ctx.client.list(SECRET, "default", labels={"of": name})).items:
            metadata = {"generateName": f"{name}-", "namespace": "default", "labels": {"of": name}}
            await ctx.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})

    @chain.on_change("books")
    async def write_down(ctx: HandlerContext, obj: Object) -> None:
        assert {ONE, TWO} <= {*obj["metadata"]["finalizers"]}
        books[obj["metadata"]["name"]] = obj["metadata"]["uid"]

    @chain.on_remove("child-gone", finalizer=ONE)
    async def no_child(ctx: HandlerContext, obj: Object) -> None:
        for secret in (await ctx.api.list(SECRET, "default", labels={"of": obj["metadata"]["name"]})).items:
            try:
                await ctx.client.delete(secret)
            except NotFound:
                continue

    @chain.on_remove("books-closed", finalizer=TWO)
    async def not_in_books(ctx: HandlerContext, obj: Object) -> None:
        books.pop(obj["metadata"]["name"], None)

    return chain


@asynccontextmanager
async def working(transport: Transport, books: dict[str, str]) -> AsyncIterator[Chain[Object]]:
    """A process with a chain."""
    clock, chain = HurriedClock(), chain_of(books)
    async with Cache(Client(transport, clock=clock), clock=clock) as cache:
        try:
            await chain.start(cache)
            chain.work()
            yield chain
        finally:
            await chain.stop(0)


async def is_right(direct: Client, there: set[str], books: dict[str, str]) -> str:
    """What is not as it should be."""
    found = {item["metadata"]["name"]: item for item in (await direct.list(CONFIG_MAP, "default")).items}
    children = [item["metadata"]["labels"]["of"] for item in (await direct.list(SECRET, "default")).items]
    if {*found} != there:
        return f"there are {sorted(found)}"
    if sorted(children) != sorted(there):
        return f"there are children of {sorted(children)}"
    if any(item["metadata"].get("labels") != {"zone": "a"} for item in found.values()):
        return "not everything is labelled"
    return "" if books == {name: item["metadata"]["uid"] for name, item in found.items()} else f"the books say {books}"


async def becomes_right(direct: Client, there: set[str], books: dict[str, str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while await is_right(direct, there, books):
            await asyncio.sleep(0.005)


async def makes(direct: Client, name: str) -> None:
    try:
        await direct.create(config_map(name))
    except AlreadyExists:
        return


@pytest.mark.feature("E7", "E89")
@pytest.mark.parametrize("does_last", [True, False], ids=["done", "not-done"])
async def test_a_crash_after_any_write_converges_to_the_same(does_last: bool) -> None:
    async def has_crashed(direct: Client, requests: Faults) -> bool:
        """Has one deleted once both have their children; False if nothing happened until that was done."""
        is_deleted = False
        async with asyncio.timeout(PATIENCE):
            while not requests.crashed:
                if not is_deleted and len((await direct.list(SECRET, "default")).items) == 2:
                    await direct.delete(CONFIG_MAP, "a", "default")
                    is_deleted = True
                if is_deleted and len((await direct.list(CONFIG_MAP, "default")).items) == 1:
                    return False
                await asyncio.sleep(0.002)
        return True

    crashes = 0
    for after in range(1, 12):
        async with ControlPlane(system=False) as plane, plane.client() as direct:
            books: dict[str, str] = {}
            requests = Faults(direct)
            requests.crash_after(after, done=does_last)
            for name in "ab":
                await makes(direct, name)
            async with working(requests, books):
                crashes += await has_crashed(direct, requests)
            with suppress(NotFound):
                await direct.delete(CONFIG_MAP, "a", "default")
            async with working(direct.transport, books):
                await makes(direct, "b")
                await becomes_right(direct, {"b"}, books)
    assert crashes >= 8


async def survive(upset: Callable[[Faults], None]) -> None:
    async with ControlPlane(system=False) as plane, plane.client() as direct:
        books: dict[str, str] = {}
        faults = Faults(direct, ids=SeededIds(7))
        names = {f"n{number}" for number in range(6)}
        upset(faults)
        async with working(faults, books) as chain:
            for name in sorted(names):
                await makes(direct, name)
            await becomes_right(direct, names, books)
            for name in sorted(names)[:3]:
                await direct.delete(CONFIG_MAP, name, "default")
            await becomes_right(direct, {*sorted(names)[3:]}, books)
            await until(lambda: not chain.queue.working())
        assert faults.hits, "nothing went wrong: the test shows nothing"


@pytest.mark.feature("E7", "E31", "E89")
async def test_storms_of_conflicts_end_the_same() -> None:
    def upset(faults: Faults) -> None:
        faults.fail("write", error=Conflict, times=None, chance=0.4)

    await survive(upset)


@pytest.mark.feature("E7", "E89")
async def test_writes_that_are_done_and_yet_answered_with_an_error_end_the_same() -> None:
    def upset(faults: Faults) -> None:
        faults.fail("write", error=500, done=True, times=None, chance=0.3)

    await survive(upset)


@pytest.mark.feature("E7", "E32", "E89")
@pytest.mark.parametrize("after", [1, 3])
async def test_a_view_that_is_old_again_and_again_ends_the_same(after: int) -> None:
    def upset(faults: Faults) -> None:
        faults.break_watches(after=after)
        faults.break_watches(after=1, expired=True, chance=0.2)

    await survive(upset)
