"""Events: written to a real server, counted up, combined, thinned out and never in the way, as client-go's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.controller.recorder import Events, reference
from setpoint.objects.clock import ManualClock
from setpoint.objects.frozen import freeze
from setpoint.objects.ids import SeededIds
from setpoint.objects.tree import Object
from setpoint.plane import ControlPlane

START = datetime(2026, 1, 1, tzinfo=UTC)
V1, LEGACY = "events.k8s.io/v1/Event", "v1/Event"


class Flaky:
    """A way to the server that is counted, and can be cut."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.is_cut = False
        self.methods: list[str] = []
        self.pending = 0

    async def send(self, call: Call) -> Answer:
        if "events" in call.path:
            self.methods.append(call.method)
        if self.is_cut:
            raise TransportError("no route to the server", sent=True)
        self.pending += 1
        try:
            return await self._transport.send(call)
        finally:
            self.pending -= 1

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()


class World:
    """A server, a program that records events, and an object to tell of."""

    def __init__(self, plane: ControlPlane, clock: ManualClock, about: Object, host: str = "host") -> None:
        self.client = plane.client()
        self.clock = clock
        self.about = about
        self.way = Flaky(plane.client().transport)
        self.events = Events(Client(self.way, clock=clock), ids=SeededIds(1), host=host)
        self.running = asyncio.ensure_future(self.events.run())

    async def settle(self) -> None:
        """Waits for the requests under way. A server on a busy machine handles some of them in a thread."""
        turns = 40
        while turns:
            await asyncio.sleep(0.001 if self.way.pending else 0)
            turns = 40 if self.way.pending else turns - 1

    async def pass_time(self, seconds: float) -> None:
        await self.settle()
        until = self.clock.monotonic() + seconds
        while (due := self.clock.next_deadline()) is not None and due <= until:
            self.clock.advance(due - self.clock.monotonic())
            await self.settle()
        self.clock.advance(until - self.clock.monotonic())
        await self.settle()

    async def all(self, kind: str = V1) -> list[Object]:
        await self.settle()
        return (await self.client.list(kind)).items

    async def end(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)


@asynccontextmanager
async def new_world(host: str = "host") -> AsyncIterator[World]:
    clock = ManualClock(START)
    async with ControlPlane(clock=clock, system=False) as plane, plane.client() as client:
        about = await client.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thing", "namespace": "default"}}
        )
        world = World(plane, clock, about, host)
        try:
            yield world
        finally:
            await world.end()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with new_world() as world:
        yield world


async def test_an_event_says_who_did_what_to_which_object(world: World) -> None:
    node = await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    recorder = world.events.recorder("website-controller")
    recorder.normal(world.about, "Published", "it serves", action="Serve", related=node, annotations={"a": "b"})
    [event] = await world.all()
    assert event["metadata"]["name"].startswith("thing.")
    assert event["metadata"]["namespace"] == "default"
    assert event["metadata"]["annotations"] == {"a": "b"}
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "thing",
        "namespace": "default",
        "uid": world.about["metadata"]["uid"],
        "resourceVersion": world.about["metadata"]["resourceVersion"],
    }
    assert event["related"]["name"] == "n1"
    told = ("type", "reason", "action", "note", "reportingController", "reportingInstance", "eventTime")
    assert [event[name] for name in told] == [
        "Normal",
        "Published",
        "Serve",
        "it serves",
        "website-controller",
        "website-controller-host",
        "2026-01-01T00:00:00.000000Z",
    ]


async def test_events_of_what_has_no_namespace_go_to_default(world: World) -> None:
    node = await world.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    world.events.recorder("x").warning(node, "Broken", "it does not answer")
    [event] = await world.all()
    assert event["metadata"]["namespace"] == "default"
    assert event["type"] == "Warning"
    assert event["action"] == "Broken"


@pytest.mark.feature("E77")
async def test_the_second_makes_a_series_later_ones_are_counted_and_told_when_it_ends(world: World) -> None:
    recorder = world.events.recorder("x")
    for _ in range(5):
        recorder.normal(world.about, "Again", "and again")
        await world.pass_time(1)
        # It is a series although the object is another version each time.
        world.about = {**world.about, "metadata": {**world.about["metadata"], "resourceVersion": "99"}}
    [event] = await world.all()
    assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
    assert world.way.methods == ["POST", "PATCH"]
    assert world.events.filtered == 3
    await world.pass_time(12 * 60)
    [event] = await world.all()
    assert event["series"] == {"count": 5, "lastObservedTime": "2026-01-01T00:00:04.000000Z"}
    # What comes now is something new.
    recorder.normal(world.about, "Again", "and again")
    assert len(await world.all()) == 2


async def test_a_series_that_goes_on_is_told_every_half_hour(world: World) -> None:
    recorder = world.events.recorder("x")
    for _ in range(31):
        recorder.normal(world.about, "Again", "and again")
        await world.pass_time(60)
    [event] = await world.all()
    assert event["series"]["count"] == 30
    assert world.way.methods == ["POST", "PATCH", "PATCH"]


async def test_a_series_whose_event_was_deleted_is_made_anew(world: World) -> None:
    recorder = world.events.recorder("x")
    recorder.normal(world.about, "Again", "and again")
    [event] = await world.all()
    await world.client.delete(event)
    recorder.normal(world.about, "Again", "and again")
    [event] = await world.all()
    assert event["series"]["count"] == 2


async def test_the_same_legacy_event_is_counted_up(world: World) -> None:
    recorder = world.events.recorder("x", legacy=True)
    for _ in range(3):
        recorder.normal(world.about, "Pulled", "the image is there")
        await world.pass_time(1)
    [event] = await world.all(LEGACY)
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:00:02Z"
    assert event["source"] == {"component": "x", "host": "host"}
    assert world.way.methods == ["POST", "PATCH", "PATCH"]


@pytest.mark.feature("E77")
async def test_ten_legacy_events_that_differ_in_their_text_are_combined(world: World) -> None:
    recorder = world.events.recorder("x", legacy=True)
    for number in range(13):
        recorder.normal(world.about, "Failed", f"attempt {number}")
        await world.pass_time(1)
    events = await world.all(LEGACY)
    texts = sorted(event["message"] for event in events)
    assert texts == sorted([*(f"attempt {number}" for number in range(9)), texts[0]])
    [combined] = [event for event in events if event["message"] == "(combined from similar events): attempt 12"]
    assert combined["count"] == 4
    # After ten quiet minutes it is told on its own again.
    await world.pass_time(601)
    recorder.normal(world.about, "Failed", "attempt 13")
    assert "attempt 13" in [event["message"] for event in await world.all(LEGACY)]


@pytest.mark.feature("E77")
async def test_of_one_object_no_more_than_25_legacy_events_are_told_at_once_and_one_in_five_minutes_later(
    world: World,
) -> None:
    recorder = world.events.recorder("x", legacy=True)
    for number in range(40):
        recorder.normal(world.about, f"Reason{number}", "something")
    assert len(await world.all(LEGACY)) == 25
    assert world.events.filtered == 15
    await world.pass_time(299)
    recorder.normal(world.about, "Late", "something")
    assert len(await world.all(LEGACY)) == 25
    await world.pass_time(1)
    recorder.normal(world.about, "Later", "something")
    assert len(await world.all(LEGACY)) == 26
    # Warnings of it are told of their own account.
    recorder.warning(world.about, "Broken", "something")
    assert len(await world.all(LEGACY)) == 27


async def test_an_event_waits_for_the_server_and_is_given_up_after_twelve_tries(world: World) -> None:
    recorder = world.events.recorder("x")
    recorder.normal(world.about, "First", "one")
    await world.settle()  # the client knows now where events are
    world.way.methods.clear()
    world.way.is_cut = True
    recorder.normal(world.about, "Second", "two")
    await world.pass_time(60)
    assert 5 <= len(world.way.methods) <= 7
    world.way.is_cut = False
    await world.pass_time(10)
    assert len(await world.all()) == 2
    world.way.is_cut = True
    world.way.methods.clear()
    recorder.normal(world.about, "Third", "three")
    await world.pass_time(200)
    assert world.way.methods == ["POST"] * 12
    assert world.events.failed == 1


async def test_beyond_a_thousand_that_wait_events_are_dropped_and_counted(world: World) -> None:
    recorder = world.events.recorder("x")
    for number in range(1200):
        recorder.normal(world.about, f"Reason{number}", "much")
    assert world.events.dropped == 200
    await world.events.flush()
    assert len(await world.all()) == 1000


async def test_what_the_server_refuses_is_counted_and_not_tried_again(world: World) -> None:
    recorder = world.events.recorder("x")
    gone = {**world.about, "metadata": {"name": "thing", "namespace": "nowhere"}}
    recorder.normal(gone, "Lost", "its namespace is not there")
    await world.settle()
    assert world.events.rejected == 1
    assert world.way.methods == ["POST"]


async def test_what_is_no_object_is_said_in_the_log_and_does_no_harm(world: World) -> None:
    world.events.recorder("x").normal({"metadata": {}}, "Odd", "of nothing")
    assert await world.all() == []


async def test_texts_that_are_too_long_are_cut_to_what_the_api_takes() -> None:
    async with new_world(host="h" * 100) as world:
        recorder = world.events.recorder(f"example.com/{'x' * 63}")
        recorder.normal(world.about, "R" * 200, "ä" * 2000, action="A" * 200)
        [event] = await world.all()
        assert len(event["note"].encode()) <= 1024
        assert event["note"].endswith("…")
        assert (len(event["reason"]), len(event["action"]), len(event["reportingInstance"])) == (128, 128, 128)
        with pytest.raises(ValueError, match="no more than 63"):
            world.events.recorder("x" * 64)


async def test_at_the_end_what_waits_is_written_and_series_are_told_as_they_stand(world: World) -> None:
    await world.end()
    recorder = world.events.recorder("x")
    for _ in range(4):
        recorder.normal(world.about, "Again", "and again")
    await world.events.flush()
    [event] = await world.all()
    assert event["series"]["count"] == 4


async def test_an_event_of_an_object_with_a_name_that_no_event_may_have_gets_one_of_its_own(world: World) -> None:
    metadata = {"name": "system:x", "namespace": "default"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata}
    world.events.recorder("x").normal(await world.client.create(role), "Made", "with a colon")
    [event] = await world.all()
    assert ":" not in event["metadata"]["name"]
    assert event["regarding"]["name"] == "system:x"


@asynccontextmanager
async def other_writers(world: World, number: int) -> AsyncIterator[list[Events]]:
    """Further programs that record events, with the clock of the world."""
    writers = [Events(world.client, ids=SeededIds(2 + each), host=f"other-{each}") for each in range(number)]
    running = [asyncio.ensure_future(each.run()) for each in writers]
    try:
        yield writers
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


@pytest.mark.parametrize("legacy", [True, False], ids=["core/v1", "events.k8s.io/v1"])
async def test_events_of_three_writers_in_the_same_nanosecond_are_all_kept(world: World, legacy: bool) -> None:
    async with other_writers(world, 2) as others:
        for writer in (world.events, *others):
            writer.recorder("one", legacy=legacy).normal(world.about, "Published", "it serves")
            await world.settle()
        events = await world.all()
        assert len(events) == 3
        assert len({each["reportingInstance"] for each in events}) == 3
        assert [each.rejected for each in (world.events, *others)] == [0, 0, 0]


@pytest.mark.parametrize("legacy", [True, False], ids=["core/v1", "events.k8s.io/v1"])
async def test_repetitions_of_a_renamed_event_are_counted_in_that_event(world: World, legacy: bool) -> None:
    async with other_writers(world, 1) as [other]:
        world.events.recorder("one", legacy=legacy).normal(world.about, "First", "a")
        await world.settle()
        for _ in range(2):
            other.recorder("two", legacy=legacy).normal(world.about, "Second", "b")
            await world.settle()
        counts = {
            each["reason"]: each.get("deprecatedCount", 1) if legacy else (each.get("series") or {}).get("count", 1)
            for each in await world.all()
        }
        assert counts == {"First": 1, "Second": 2}


async def test_the_names_of_renamed_events_keep_their_order(world: World) -> None:
    async with other_writers(world, 2) as others:
        for writer in (world.events, *others):
            for number in range(9):
                writer.recorder("one").normal(world.about, f"Reason{number}", "a")
            await world.settle()
        assert len(await world.all()) == 27
        for each in others:
            instance = f"one-other-{others.index(each)}"
            mine = sorted(
                (event["metadata"]["name"], event["reason"])
                for event in await world.all()
                if event["reportingInstance"] == instance
            )
            assert [reason for _, reason in mine] == [f"Reason{number}" for number in range(9)]


async def test_a_new_event_tries_at_most_eight_names(world: World) -> None:
    nanosecond = round(START.timestamp()) * 10**9
    for number in range(8):
        name = f"{world.about['metadata']['name']}.{nanosecond + 2**number - 1:x}"
        await world.client.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": "default"},
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "other"},
            }
        )
    world.events.recorder("one").normal(world.about, "Published", "it serves")
    await world.settle()
    assert world.way.methods.count("POST") == 8
    assert (world.events.written, world.events.rejected) == (0, 1)


async def test_an_event_that_was_written_before_is_not_written_again(world: World) -> None:
    """A restarted writer repeats its first event, in virtual time at the same moment."""
    again = Events(world.client, ids=SeededIds(9), host="host")
    for writer in (world.events, again):
        writer.recorder("one").normal(world.about, "Published", "it serves")
        await writer.flush()
    assert len(await world.all()) == 1


def test_the_reference_to_an_object_of_a_cache_copies_no_part_of_the_object(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(tree: Any) -> Any:
        raise AssertionError("the whole object is copied")

    monkeypatch.setattr("setpoint.client.kinds.thaw", refuse)
    metadata = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"}}
    found = reference(freeze({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "a"}}))
    wanted = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    assert found == {"apiVersion": "v1", "kind": "Pod", **wanted}
