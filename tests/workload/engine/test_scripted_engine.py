"""The engine in memory behaves as a real one, and breaks as a test says; so the client is tested with what no real
engine does on demand."""

import asyncio
from datetime import UTC, datetime

import pytest
from tests.workload.engine.scripted.engine import Ran, ScriptedEngine

from setpoint.objects.clock import ManualClock
from setpoint.workload.engine.body import EngineNetwork, create_body
from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import (
    AddressInUse,
    EngineError,
    EngineLost,
    InUse,
    NameTaken,
    NoSuchImage,
    NotFound,
    NotRunning,
    SubnetsExhausted,
)
from setpoint.workload.engine.events import Event, Resync
from setpoint.workload.engine.images import BuildOptions, single_chunk
from setpoint.workload.engine.output_stream import OutputChunk
from setpoint.workload.engine.progress import ImageProgress

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def scripted() -> ScriptedEngine:
    engine = ScriptedEngine(ManualClock(START))
    engine.add_image("web:1")
    return engine


async def started(scripted: ScriptedEngine, name: str = "web", **spec: object) -> str:
    engine = scripted.engine
    made = await engine.containers.create(name, create_body({"image": "web:1", **spec}).body)
    await engine.containers.start(made.id)
    return made.id


async def test_a_container_lives_as_in_a_real_engine(scripted: ScriptedEngine) -> None:
    containers = scripted.engine.containers
    id_ = await started(scripted, ports=[{"containerPort": 80}], labels=[{"key": "a", "value": "b"}])
    running = await containers.inspect("web")
    assert (running.id, running.status, running.started_at) == (id_, "running", START)
    assert running.ports[0].host_ip == "127.0.0.1"
    assert running.ports[0].host_port > 0
    with pytest.raises(NameTaken):
        await containers.create("web", create_body({"image": "web:1"}).body)
    assert [each.id for each in await containers.list(labels={"a": "b"})] == [id_]
    assert await containers.list(labels={"a": "c"}) == []
    waiting = asyncio.ensure_future(containers.wait(id_))
    await asyncio.sleep(0)
    scripted.exit("web", 3)
    assert await waiting == 3
    with pytest.raises(NotRunning):
        await containers.kill(id_)
    await containers.remove(id_)
    assert await containers.find("web") is None


async def test_what_a_container_prints_is_followed(scripted: ScriptedEngine) -> None:
    id_ = await started(scripted)
    scripted.print("web", b"before\n")

    async def follow() -> list[OutputChunk]:
        return [output async for output in scripted.engine.containers.logs(id_, follow=True)]

    following = asyncio.ensure_future(follow())
    await asyncio.sleep(0)
    scripted.print("web", b"after\n", "stderr")
    await asyncio.sleep(0)
    scripted.exit("web")
    assert await following == [("stdout", b"before\n"), ("stderr", b"after\n")]


async def test_commands_do_what_the_test_says(scripted: ScriptedEngine) -> None:
    id_ = await started(scripted)
    scripted.on_exec = lambda container, command: Ran(len(command), b"out", bytes(container.heard))
    async with scripted.engine.containers.exec(id_, ["a", "b"], stdin=True) as command:
        await command.write(b"heard")
        command.end_input()
        assert [output async for output in command] == [("stdout", b"out"), ("stderr", b"heard")]
        assert await command.exit_code() == 2


async def test_faults_come_as_often_as_asked_and_are_known_by_kind(scripted: ScriptedEngine) -> None:
    scripted.fail("containers.create", 500, "the storage is on fire", times=2)
    body = create_body({"image": "web:1"}).body
    for _ in range(2):
        with pytest.raises(EngineError, match="on fire"):
            await scripted.engine.containers.create("web", body)
    assert (await scripted.engine.containers.create("web", body)).id
    assert scripted.calls == [("containers.create", "web")] * 3


async def test_a_slow_engine_takes_its_time_by_the_clock(scripted: ScriptedEngine) -> None:
    scripted.delay("ping", 30)
    asking = asyncio.ensure_future(scripted.engine.ping())
    await asyncio.sleep(0)
    assert not asking.done()
    assert isinstance(scripted.clock, ManualClock)
    scripted.clock.advance(30)
    await asking


async def test_a_busy_port_and_full_pools_are_refused_as_engines_do(scripted: ScriptedEngine) -> None:
    scripted.busy_ports.add(8080)
    with pytest.raises(AddressInUse, match="8080"):
        await started(scripted, ports=[{"containerPort": 80, "hostPort": 8080}])
    scripted.max_networks = 1
    await scripted.engine.networks.create("one")
    with pytest.raises(SubnetsExhausted):
        await scripted.engine.networks.create("two")


async def test_networks_know_their_members(scripted: ScriptedEngine) -> None:
    networks = scripted.engine.networks
    await networks.create("front")
    await networks.create("back")
    with pytest.raises(NameTaken):
        await networks.create("front")
    body = create_body({"image": "web:1"}, networks=[EngineNetwork("front", ["www"])]).body
    id_ = (await scripted.engine.containers.create("web", body)).id
    await networks.connect("back", id_, ["db"])
    await networks.connect("back", id_, ["db"])
    inspected = await scripted.engine.containers.inspect(id_)
    assert {name: each.aliases for name, each in inspected.networks.items()} == {"front": ("www",), "back": ("db",)}
    assert (await networks.inspect("back")).container_ids == (id_,)
    with pytest.raises(InUse):
        await networks.remove("back")
    await networks.disconnect("back", id_)
    await networks.disconnect("back", id_)
    await networks.remove("back")
    await networks.remove("back")
    with pytest.raises(NotFound):
        await networks.inspect("back")


async def test_volumes_stay_while_they_are_used(scripted: ScriptedEngine) -> None:
    await scripted.engine.volumes.create("v", labels={"a": "b"})
    id_ = await started(scripted, volumeMounts=[{"type": "volume", "source": "v", "target": "/v"}])
    with pytest.raises(InUse):
        await scripted.engine.volumes.remove("v")
    await scripted.engine.containers.remove(id_)
    await scripted.engine.volumes.remove("v")
    assert await scripted.engine.volumes.list() == []


async def test_a_pull_asks_the_registry_only_as_the_policy_says(scripted: ScriptedEngine) -> None:
    images = scripted.engine.images
    scripted.offer("db:2")
    told: list[ImageProgress] = []
    with pytest.raises(NoSuchImage):
        await images.ensure("db:2", "never")
    assert (await images.ensure("db:2", "missing", watch=told.append)).tags == ("db:2",)
    await images.ensure("db:2", "missing")
    await images.ensure("db:2", "always")
    assert [call for call in scripted.calls if call[0] == "images.pull"] == [("images.pull", "db")] * 2
    assert [(each.done_bytes, each.total_bytes) for each in told] == [(0, 0), (50, 100), (100, 100)]
    with pytest.raises(NoSuchImage, match="manifest unknown"):
        await images.pull("nothing:1")


async def test_a_pull_that_breaks_in_the_middle_leaves_nothing_and_can_be_tried_again(scripted: ScriptedEngine) -> None:
    scripted.offer("db:2")
    scripted.cut_pull("db:2")
    with pytest.raises(EngineLost, match="in the middle"):
        await scripted.engine.images.pull("db:2")
    assert await scripted.engine.images.find("db:2") is None
    assert (await scripted.engine.images.pull("db:2")).tags == ("db:2",)


async def test_a_build_makes_an_image_of_its_tags(scripted: ScriptedEngine) -> None:
    options = BuildOptions(tags=["made:1"], labels={"a": "b"})
    made = await scripted.engine.images.build_archive(single_chunk(b"tar"), "Dockerfile", options)
    assert (made.tags, made.labels) == (("made:1",), {"a": "b"})


async def test_events_go_on_after_a_break_without_repeating_any(scripted: ScriptedEngine) -> None:
    clock = scripted.clock
    assert isinstance(clock, ManualClock)
    events = scripted.engine.events()
    assert await anext(events) == Resync("first connection")
    id_ = await started(scripted)
    told = [await anext(events), await anext(events)]
    assert [each.action for each in told if isinstance(each, Event)] == ["create", "start"]
    next_ = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    scripted.cut_events()
    for _ in range(5):
        await asyncio.sleep(0)
    scripted.exit("web", 4)
    clock.advance(0.1)
    assert await next_ == Resync("the engine closed the event stream")
    # Of that second, the first two come again and are dropped.
    died = await anext(events)
    assert isinstance(died, Event)
    assert (died.id, died.name, died.action, died.attributes["exitCode"]) == (id_, "web", "die", "4")


async def test_an_engine_that_is_away_is_asked_for_ever_more_seldom(scripted: ScriptedEngine) -> None:
    clock = scripted.clock
    assert isinstance(clock, ManualClock)
    events = scripted.engine.events()
    await anext(events)
    scripted.stop()
    assert await scripted.connect() == scripted.unavailable
    assert isinstance(await scripted.connect(), Unavailable)
    with pytest.raises(EngineLost):
        await scripted.engine.ping()
    next_ = asyncio.ensure_future(anext(events))
    waits = []
    for _ in range(8):
        for _ in range(10):
            await asyncio.sleep(0)
        deadline = clock.next_deadline()
        assert deadline is not None
        waits.append(round(deadline - clock.monotonic(), 3))
        clock.advance(deadline - clock.monotonic())
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    scripted.start()
    while not next_.done():
        clock.advance(5)
        for _ in range(10):
            await asyncio.sleep(0)
    assert isinstance(next_.result(), Resync)
    assert isinstance(await scripted.connect(), Engine)


async def test_what_happens_behind_our_back_is_told_by_events(scripted: ScriptedEngine) -> None:
    events = scripted.engine.events()
    await anext(events)
    await started(scripted, healthcheck={"command": ["true"]})
    assert (await scripted.engine.containers.inspect("web")).health.status == "starting"
    scripted.set_health("web", "healthy")
    scripted.remove("web")
    told = [await anext(events) for _ in range(5)]
    actions = [(each.action, each.attributes.get("detail", "")) for each in told if isinstance(each, Event)]
    assert actions == [("create", ""), ("start", ""), ("health_status", "healthy"), ("die", ""), ("destroy", "")]
    assert await scripted.engine.containers.find("web") is None
