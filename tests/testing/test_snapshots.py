"""Snapshots and forks of worlds: the copy continues exactly, and neither world affects the other."""

import asyncio
from collections.abc import AsyncIterator

import pytest

import setpoint as sp
from setpoint import testing
from setpoint.client.patches import merge
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.tree import Object
from setpoint.store.contract import TooEarly, TooLate
from setpoint.testing import templates

MAP = "v1/ConfigMap"


class ShelfSpec(sp.Model):
    """What a shelf should be."""

    books: int = 0


class ShelfStatus(sp.Model):
    """What a shelf is."""

    rounds: int = 0
    observed_generation: int = 0


class Shelf(sp.Resource, group="example.com", version="v1"):
    """A shelf."""

    spec: ShelfSpec
    status: ShelfStatus | None = None


@sp.controller(Shelf, owns=[MAP])
async def shelves(ctx: sp.Context[Shelf], request: sp.Request) -> sp.Result | None:
    shelf = await ctx.object()
    if shelf is None:
        return None
    rounds = (shelf.status.rounds if shelf.status else 0) + 1
    if shelf.spec.books > 10:
        raise ValueError("too many books")
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": request.name},
        "data": {"books": f"{shelf.spec.books}"},
    }
    await ctx.client.apply(ctx.own(child))
    await ctx.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "entry-", "namespace": "default"}}
    )
    ctx.status.rounds = rounds
    return sp.Result(requeue_after=60)


@sp.controller(Shelf)
async def watched(ctx: sp.Context[Shelf], request: sp.Request) -> None:
    await ctx.client.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}
    )


def shelf(name: str, books: int = 0) -> Shelf:
    return Shelf(metadata=sp.ObjectMeta(name=name, namespace="default"), spec=ShelfSpec(books=books))


@pytest.fixture
async def world() -> AsyncIterator[testing.World]:
    async with testing.world(crds=[Shelf], objects=[shelf("a"), shelf("b")]) as found:
        yield found


async def whole_state(world: testing.World) -> list[object]:
    """Everything that a world has: the log with its times, actors and causes."""
    return [list(await world.plane.services.store.log()), world.clock.now()]


async def go_on(world: testing.World) -> None:
    await world.client.create(shelf("c"))
    await world.advance(150)
    await world.client.delete(Shelf, "b", "default")
    await world.advance(30)


async def test_a_fork_has_all_objects_with_their_revisions_and_their_past(world: testing.World) -> None:
    await world.client.patch(Shelf, merge({"spec": {"books": 3}}), "a", "default")
    async with world.fork() as other:
        assert await whole_state(other) == await whole_state(world)
        assert (await other.find(Shelf, "a")).spec.books == 3


async def test_the_worlds_do_not_affect_each_other(world: testing.World) -> None:
    before = await whole_state(world)
    async with world.fork() as other:
        await other.client.delete(Shelf, "a", "default")
        await other.advance(5)
        assert await whole_state(world) == before
        changed = await whole_state(other)
        await world.client.delete(Shelf, "b", "default")
        assert await whole_state(other) == changed
        assert await other.names(Shelf) == ["b"]
    assert await world.names(Shelf) == ["a"]


async def test_the_controllers_of_a_fork_continue_with_their_queues(world: testing.World) -> None:
    manager = await world.run(shelves)
    await world.advance(20)
    ran = len(manager.controllers[0].runs)
    async with world.fork() as other:
        [again] = other.managers
        await other.settle()
        assert not again.controllers[0].runs, "the objects were reconciled before, and nothing has changed"
        await other.advance(39)
        assert not again.controllers[0].runs
        await other.advance(1)
        assert len(again.controllers[0].runs) == 2
        assert len(manager.controllers[0].runs) == ran
        await world.advance(40)
        assert await other.state(Shelf) == await world.state(Shelf)


async def test_the_retries_of_a_request_go_on_with_their_delays(world: testing.World) -> None:
    manager = await world.run(shelves)
    await world.create(shelf("bad", books=11))
    with world.expect(ValueError, match="too many books"):
        await world.advance(1)
    retries = manager.controllers[0].queue.retries(sp.Request("bad", "default"))
    assert retries > 3
    async with world.fork() as other:
        [again] = other.managers
        assert again.controllers[0].queue.retries(sp.Request("bad", "default")) == retries
        for each in (other, world):
            with each.expect(ValueError, match="too many books"):
                await each.advance(100)
        counts = [each.controllers[0].queue.retries(sp.Request("bad", "default")) for each in (manager, again)]
        assert counts[0] == counts[1] > retries


async def test_forks_with_the_same_steps_end_in_the_same_state(world: testing.World) -> None:
    await world.run(shelves)
    await world.advance(10)
    snapshot = await world.snapshot()
    ends = []
    for _ in range(5):
        async with snapshot.world() as other:
            await go_on(other)
            ends.append(await whole_state(other))
            shelves_there = await other.state(Shelf)
    assert all(end == ends[0] for end in ends)
    # The original world has sent other requests, which needed random numbers too: only its uids are different.
    await go_on(world)
    assert await world.state(Shelf) == shelves_there


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_thousand_forks_end_byte_identical(world: testing.World) -> None:
    await world.run(shelves)
    await world.advance(10)
    snapshot = await world.snapshot()
    first: list[bytes] = []
    for number in range(1000):
        async with snapshot.world() as other:
            await other.client.create(shelf("c"))
            await other.advance(60)
            end = (await other.plane.services.store.snapshot()).dump().splitlines()
            first = first or end
            assert end == first, f"fork {number} differs"


async def test_the_events_of_a_fork_stay_in_the_fork(world: testing.World) -> None:
    @sp.controller(Shelf)
    async def told(ctx: sp.Context[Shelf], request: sp.Request) -> sp.Result:
        ctx.recorder.normal(await ctx.object(), "Dusted", f"at {ctx.clock.monotonic():g}")
        return sp.Result(requeue_after=100)

    await world.run(told)
    await world.advance(1)
    before = await world.events()
    assert before
    async with world.fork() as other:
        await other.advance(150)
        assert await world.events() == before
        assert "at 100" in {event.note for event in await other.events()}


async def test_the_daemons_of_a_fork_begin_as_after_a_restart(world: testing.World) -> None:
    seen: list[tuple[str, object]] = []

    @sp.daemon(Shelf)
    async def guard(ctx: sp.DaemonContext[Shelf], request: sp.Request) -> None:
        seen.append((request.name, ctx.clock))
        await ctx.wait_stopped(3600)

    @sp.timer(Shelf, interval=60)
    async def dust(ctx: sp.Context[Shelf], request: sp.Request) -> None:
        seen.append((f"dust {request.name}", ctx.clock))

    await world.run(guard, dust)
    await world.advance(1)
    async with world.fork() as other:
        await other.advance(1)
        names = ["a", "b", "dust a", "dust b"]
        assert sorted(name for name, clock in seen if clock is world.clock) == names
        assert sorted(name for name, clock in seen if clock is other.clock) == names


async def test_a_controller_that_cannot_be_created_again_is_named(world: testing.World) -> None:
    async def reconcile(ctx: sp.Context, request: sp.Request) -> None: ...

    await world.run(sp.Controller("mine", reconcile, kind=Shelf))
    with pytest.raises(TypeError, match=r"the controller mine cannot be created again .*@sp\.controller"):
        await world.snapshot()


async def test_a_snapshot_outlives_its_world() -> None:
    async with testing.world(crds=[Shelf], objects=[shelf("a")], seed=3) as world:
        snapshot = await world.snapshot()
        uid = (await world.find(Shelf, "a")).metadata.uid
    async with snapshot.world() as other:
        assert (await other.find(Shelf, "a")).metadata.uid == uid


async def test_a_world_with_limited_rights_keeps_them() -> None:
    only_shelves = [{"apiGroups": ["example.com"], "resources": ["*"], "verbs": ["*"]}]
    async with testing.world(crds=[Shelf], objects=[shelf("a")], rights=only_shelves) as world:
        with world.expect(testing.MissingRight):
            manager = await world.run(watched)
            await world.advance(5)
        assert manager.controllers[0].runs[-1].result == "error", "there is no right to create entries"
        async with world.fork() as other:
            with other.expect(testing.MissingRight):
                await other.advance(600)
            assert other.managers[0].controllers[0].runs[-1].result == "error"


async def test_a_world_in_which_a_reconcile_waits_cannot_be_copied(world: testing.World) -> None:
    @sp.controller(Shelf)
    async def slow(ctx: sp.Context[Shelf], request: sp.Request) -> None:
        await ctx.clock.sleep(10)

    await world.run(slow)
    with pytest.raises(RuntimeError, match="default/a: being processed"):
        await world.snapshot()


async def test_a_plane_can_be_forked_at_a_revision(world: testing.World) -> None:
    first = int((await world.find(Shelf, "a")).metadata.resource_version)
    last = await world.client.patch(Shelf, merge({"spec": {"books": 3}}), "a", "default")
    await world.client.delete(Shelf, "b", "default")
    async with await world.plane.fork(at=first) as fork, fork.client() as client:
        assert (await client.get(Shelf, "a", "default")).spec.books == 0
        with pytest.raises(NotFound):
            await client.get(Shelf, "b", "default")
        # The revisions go on from there, and a write that expects a later one is refused.
        with pytest.raises(Conflict):
            await client.update(last)
        settings: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}
        made = await client.create(settings)
        assert int(made["metadata"]["resourceVersion"]) == first + 1
    current = await world.plane.services.store.revision()
    with pytest.raises(TooEarly):
        await world.plane.fork(at=current + 1)
    await world.plane.services.store.compact(first + 1)
    with pytest.raises(TooLate):
        await world.plane.fork(at=first)


async def test_a_plane_on_a_file_is_forked_into_memory(tmp_path: object) -> None:
    async with testing.world(crds=[Shelf], objects=[shelf("a")], store=f"sqlite:{tmp_path}/db") as world:
        first = int((await world.find(Shelf, "a")).metadata.resource_version)
        await world.client.delete(Shelf, "a", "default")
        async with world.fork() as other:
            assert await whole_state(other) == await whole_state(world)
        async with await world.plane.fork(at=first) as fork, fork.client() as client:
            assert (await client.get(Shelf, "a", "default")).metadata.name == "a"


async def test_a_fork_writes_none_of_the_files_of_its_plane(tmp_path: object) -> None:
    original = sp.ControlPlane(f"sqlite:{tmp_path}/db", data=f"{tmp_path}/data", token="secret")
    async with original as plane, await plane.fork() as fork:
        assert fork.token != "secret"


def _another_shelf(kind: type) -> type[sp.Resource]:
    """Returns a class that a test defines anew."""

    class Other(sp.Resource, group="other.example.com", version="v1"):
        """Another shelf."""

        books: kind  # type: ignore[valid-type]

    return Other


async def test_the_kinds_of_worlds_are_installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    original = templates._made

    async def counted(kinds: tuple[type[sp.Resource], ...], seed: int) -> object:
        made.append(kinds)
        return await original(kinds, seed)

    monkeypatch.setattr(templates, "_made", counted)
    monkeypatch.setattr(templates, "_templates", type(templates._templates)())
    states: list[Object] = []
    for _ in range(3):
        async with testing.world(crds=[Shelf]) as world:
            states.append(await world.state("apiextensions.k8s.io/v1/CustomResourceDefinition"))
            await world.client.create(shelf("a"))
    assert made == [(Shelf,)]
    assert states[0] == states[1] == states[2] != {}
    for kind in (int, int, str):
        async with testing.world(crds=[_another_shelf(kind)]):
            pass
    assert len(made) == 3
    for seed in range(40):
        async with testing.world(seed=seed):
            pass
    assert len(templates._templates) == templates._MOST


def test_a_template_serves_worlds_of_other_event_loops() -> None:
    async def names() -> list[str]:
        async with testing.world(crds=[Shelf], objects=[shelf("a")]) as world:
            return await world.names(Shelf)

    assert asyncio.run(names()) == asyncio.run(names()) == ["a"]
