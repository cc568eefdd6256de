"""The reflector: how it lists and watches, what it does when that fails, and client-go's numbers in it."""

from itertools import pairwise

import msgspec
import pytest
from tests.cache.faults import (
    CONFIG_MAP,
    GONE,
    START,
    TOO_LARGE,
    Journal,
    World,
    answer_of,
    config_map,
    error_event,
    names,
    new_world,
)
from tests.client.test_client import Widget

from setpoint.cache.backoff import Backoff
from setpoint.cache.reflector import FAILING, STOPPED, WATCHING
from setpoint.client.list_result import PAGE
from setpoint.client.transport import Answer, Call, TransportError
from setpoint.objects.clock import ManualClock
from setpoint.objects.errors import APIError, Forbidden, InternalError, Invalid, TooManyRequests
from setpoint.objects.gvk import GroupKind, GroupResource
from setpoint.objects.ids import SeededIds
from setpoint.plane import ControlPlane

REFUSED = TransportError("connection refused", sent=False)
CUT = TransportError("the connection was cut", sent=True)
NO_STREAMS = Invalid.of(GroupKind("meta.k8s.io", "ListOptions"), "", [])


class Middle:
    """Chance that always takes the middle."""

    def uid(self) -> str:
        return ""

    def suffix(self) -> str:
        return ""

    def random(self) -> float:
        return 0.5


def is_watch(call: Call) -> bool:
    return ("watch", "true") in call.query


def streams_list(call: Call) -> bool:
    return ("sendInitialEvents", "true") in call.query


def is_list(call: Call) -> bool:
    return call.path.endswith("/configmaps") and not is_watch(call) and call.method == "GET"


def no_streaming(call: Call) -> Answer | TransportError | None:
    return answer_of(NO_STREAMS) if streams_list(call) else None


@pytest.mark.feature("E37")
async def test_one_watch_brings_the_list_and_what_follows(world: World) -> None:
    await world.client.create(config_map("a"))
    informer = await world.followed()
    assert names(informer) == ["a"]
    await world.client.create(config_map("b"))
    await world.settle()
    assert names(informer) == ["a", "b"]
    assert informer.state == WATCHING
    [watch] = world.faults.watches
    seconds = int(watch.pop("timeoutSeconds"))
    assert 300 <= seconds < 600
    assert watch == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert world.faults.lists == []


@pytest.mark.feature("E37")
async def test_a_server_that_does_not_stream_lists_is_asked_for_pages_from_its_cache(world: World) -> None:
    world.faults.refuse = no_streaming
    for number in range(3):
        await world.client.create(config_map(f"m{number}"))
    informer = await world.followed()
    assert names(informer) == ["m0", "m1", "m2"]
    [listed] = world.faults.lists
    assert listed == {"limit": str(PAGE), "resourceVersion": "0"}
    following = world.faults.watches[-1]
    assert following["resourceVersion"] == informer.resource_version
    assert "sendInitialEvents" not in following
    await world.client.delete(CONFIG_MAP, "m1", "default")
    await world.settle()
    assert names(informer) == ["m0", "m2"]


@pytest.mark.feature("E37")
async def test_a_list_of_many_pages_is_one_state(world: World) -> None:
    informer = await world.followed()
    journal = Journal()
    informer.add_handler(journal, replay=False)
    # Only lists of what is newest come in pages: the place we had must be out of reach.
    world.faults.refuse = lambda call: no_streaming(call) or (answer_of(TOO_LARGE) if is_watch(call) else None)
    world.faults.cut()
    await world.settle()
    for number in range(PAGE + 3):
        await world.client.create(config_map(f"m{number:04}"))
    await world.until(lambda: "default/m0000" in informer.store)
    assert len(names(informer)) == len(journal.texts) == PAGE + 3
    first, second = world.faults.lists[:2]
    assert first == {"limit": str(PAGE)}
    assert set(second) == {"limit", "continue"}


async def test_what_changes_while_a_list_streams_counts(world: World) -> None:
    """Some servers send real events before the bookmark that ends the list: also deletions."""
    kept = await world.client.create(config_map("kept"))
    gone = await world.client.create(config_map("gone"))
    extra = b"".join(
        msgspec.json.encode({"type": kind, "object": item}) + b"\n"
        for kind, item in (("DELETED", gone), ("MODIFIED", {**kept, "data": {"k": "new"}}))
    )

    def interrupt(call: Call, number: int, line: bytes) -> bytes:
        return extra + line if b"initial-events-end" in line else line

    world.faults.interrupt = interrupt
    informer = await world.followed()
    assert names(informer) == ["kept"]
    found = informer.get("default/kept")
    assert found is not None
    assert found["data"] == {"k": "new"}


@pytest.mark.feature("E37")
async def test_a_server_that_never_ends_its_streaming_list_does_not_hang_the_informer(world: World) -> None:
    await world.client.create(config_map("a"))
    world.faults.interrupt = lambda call, number, line: b"" if b"initial-events-end" in line else line
    informer = world.cache.acquire(CONFIG_MAP, "default")
    await world.advance(29)
    assert not informer.synced
    await world.advance(2)
    assert informer.synced
    assert names(informer) == ["a"]
    assert len(world.faults.lists) == 1


async def test_a_watch_that_ends_goes_on_where_it_was_without_a_list(world: World) -> None:
    informer = await world.followed()
    await world.client.create(config_map("a"))
    await world.settle()
    version = informer.resource_version
    await world.advance(590)  # the server ends watches after 5 to 10 minutes
    assert len(world.faults.watches) == 2
    following = world.faults.watches[-1]
    assert "sendInitialEvents" not in following
    assert int(following["resourceVersion"]) >= int(version)
    assert [reflector.lists for reflector in informer.feed.reflectors] == [1]
    assert informer.last_error is None


async def test_a_connection_that_breaks_costs_no_list_and_no_event(world: World) -> None:
    journal = Journal()
    informer = await world.followed()
    informer.add_handler(journal, replay=False)
    for number in range(5):
        world.faults.cut()
        await world.client.create(config_map(f"m{number}"))
        await world.until(lambda number=number: f"default/m{number}" in informer.store)  # type: ignore[misc]
    assert journal.texts == ["+m0", "+m1", "+m2", "+m3", "+m4"]
    assert [reflector.lists for reflector in informer.feed.reflectors] == [1]


@pytest.mark.feature("E37")
async def test_bookmarks_move_the_place_where_a_watch_goes_on(world: World) -> None:
    informer = await world.followed()
    before = informer.resource_version
    for number in range(3):
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{number}"}})
    await world.settle()
    assert informer.resource_version == before  # nothing happened to config maps
    await world.advance(61)
    assert int(informer.resource_version) >= int(before) + 3


@pytest.mark.parametrize("in_stream", [True, False], ids=["as an event", "as an answer"])
async def test_a_place_that_is_not_known_any_more_means_to_list_again_from_there(world: World, in_stream: bool) -> None:
    journal = Journal()
    informer = await world.followed()
    informer.add_handler(journal, replay=False)
    place = informer.resource_version
    once = [True]

    def refuse(call: Call) -> Answer | None:
        if is_watch(call) and not streams_list(call) and once and not in_stream:
            once.clear()
            return answer_of(GONE)
        return None

    def interrupt(call: Call, number: int, line: bytes) -> bytes:
        if once and in_stream and not streams_list(call):
            once.clear()
            return error_event(GONE)
        return line

    world.faults.refuse, world.faults.interrupt = refuse, interrupt
    world.faults.cut()
    await world.settle()
    await world.client.create(config_map("a"))
    await world.until(lambda: not once and "default/a" in informer.store)
    relist = [watch for watch in world.faults.watches if "sendInitialEvents" in watch][1]
    assert relist["resourceVersion"] == place  # not older than what we have seen
    assert journal.texts == ["+a"]


async def test_a_list_that_is_not_possible_where_we_were_is_made_of_what_is_newest(world: World) -> None:
    for error in (GONE, TOO_LARGE):
        for streaming in (True, False):
            informer = await world.followed()
            refused: list[Call] = []

            def refuse(
                call: Call, error: APIError = error, streaming: bool = streaming, refused: list[Call] = refused
            ) -> Answer | TransportError | None:
                if not streaming and streams_list(call):
                    return answer_of(NO_STREAMS)
                version = dict(call.query).get("resourceVersion", "")
                if version not in ("", "0") and (streams_list(call) or is_list(call) or not refused):
                    refused.append(call)
                    return answer_of(error)
                return None

            world.faults.refuse = refuse
            world.faults.cut()
            await world.client.create(config_map("new"))
            await world.until(lambda: "default/new" in informer.store)  # noqa: B023
            assert refused
            await world.cache.release(informer)
            await world.advance(11)
            world.faults.refuse = lambda call: None
            await world.client.delete(CONFIG_MAP, "new", "default")


async def test_later_lists_are_not_read_in_pages(world: World) -> None:
    """A page needs a revision of the store; a list that is not older than a known version comes from the cache."""
    world.faults.refuse = no_streaming
    informer = await world.followed()
    place = informer.resource_version

    def refuse(call: Call) -> Answer | TransportError | None:
        is_there = dict(call.query).get("resourceVersion", "") == place
        return answer_of(GONE) if is_there and not streams_list(call) else no_streaming(call)

    world.faults.refuse = refuse
    world.faults.cut()
    await world.client.create(config_map("new"))
    await world.until(lambda: "default/new" in informer.store)
    assert world.faults.lists == [{"limit": str(PAGE), "resourceVersion": "0"}, {"resourceVersion": place}, {}]


@pytest.mark.slow
async def test_a_server_that_lost_its_state_is_believed(world: World) -> None:
    """Its revisions begin anew: what was beyond them is gone."""
    for number in range(5):
        await world.client.create(config_map(f"m{number}"))
    informer = await world.followed()
    async with ControlPlane(clock=world.clock, system=False) as fresh, fresh.client() as client:
        await client.create(config_map("only"))
        world.faults.inner = client.transport
        world.faults.cut()
        await world.until(lambda: names(informer) == ["only"])
        await informer.wait_for(informer.resource_version)


async def test_it_waits_longer_and_longer_while_nothing_works_as_client_go_does() -> None:
    async with new_world(ids=Middle()) as world:
        await world.cache.client.resource(CONFIG_MAP)
        tries: list[float] = []

        def refuse(call: Call) -> TransportError | None:
            if is_watch(call) or is_list(call):
                tries.append(world.clock.monotonic())
            return None if call.path == "/version" else REFUSED  # it is there, only not for this

        world.faults.refuse = refuse
        informer = world.cache.acquire(CONFIG_MAP, "default")
        await world.advance(300)
        waits = [round(after - before, 3) for before, after in pairwise(tries)]
        assert waits[:9] == [1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0, 45.0]
        assert informer.state == FAILING
        assert "connection refused" in informer.problem
        world.faults.refuse = lambda call: None
        await world.until(lambda: informer.synced)
        assert informer.last_error is None
        assert informer.problem == ""


def test_the_wait_is_short_again_after_two_minutes_without_one() -> None:
    clock = ManualClock(START)
    backoff = Backoff(clock, Middle())
    assert [backoff.next() for _ in range(3)] == pytest.approx([1.2, 2.4, 4.8])
    clock.advance(4.8 + 119)
    assert backoff.next() == pytest.approx(9.6)
    clock.advance(9.6 + 121)
    assert backoff.next() == pytest.approx(1.2)


def test_chance_adds_up_to_as_much_again() -> None:
    clock = ManualClock(START)
    waits = [Backoff(clock, SeededIds(seed)).next() for seed in range(200)]
    assert 0.8 <= min(waits) < 0.85
    assert 1.55 < max(waits) < 1.6


async def test_a_watch_that_ends_at_once_without_a_word_is_tried_ever_more_slowly() -> None:
    async with new_world(ids=Middle()) as world:
        informer = await world.followed()
        began: list[float] = []

        def interrupt(call: Call, number: int, line: bytes) -> bytes | None:
            return line if streams_list(call) else None

        def refuse(call: Call) -> Answer | None:
            if is_watch(call):
                began.append(world.clock.monotonic())
                if not streams_list(call):
                    return Answer(200, {"content-type": "application/json"})
            return None

        world.faults.refuse, world.faults.interrupt = refuse, interrupt
        world.faults.cut()
        await world.advance(20)
        assert len(began) < 8
        assert informer.state == FAILING
        assert "without an event" in informer.problem
        assert isinstance(informer.last_error, TransportError)
        assert informer.last_error.sent


async def test_a_list_whose_connection_breaks_is_read_in_pages_the_next_time(world: World) -> None:
    """Pages are shorter than a whole list. Once they succeed, the next list is streamed again."""
    await world.client.create(config_map("a"))
    breaks = [True]

    def interrupt(call: Call, number: int, line: bytes) -> bytes | TransportError:
        return CUT if breaks and streams_list(call) else line

    world.faults.interrupt = interrupt
    informer = await world.followed()
    assert names(informer) == ["a"]
    assert len(world.faults.lists) == 1
    assert ["sendInitialEvents" in watch for watch in world.faults.watches] == [True, False]
    breaks.clear()
    once = [GONE]
    world.faults.refuse = lambda call: answer_of(once.pop()) if once and is_watch(call) else None
    world.faults.cut()
    await world.until(lambda: not once and len(world.faults.watches) == 4)
    assert len(world.faults.lists) == 1
    assert "sendInitialEvents" in world.faults.watches[-1]


async def test_a_list_that_was_never_begun_is_streamed_the_next_time(world: World) -> None:
    refused = [REFUSED]
    world.faults.refuse = lambda call: refused.pop() if refused and is_watch(call) else None
    informer = await world.followed()
    assert informer.synced
    assert world.faults.lists == []
    assert ["sendInitialEvents" in watch for watch in world.faults.watches] == [True, True]


async def test_a_version_that_expires_again_soon_is_waited_for() -> None:
    async with new_world(ids=Middle()) as world:
        await world.followed()
        began: list[float] = []
        expired: list[float] = []

        def refuse(call: Call) -> Answer | None:
            if streams_list(call):
                began.append(world.clock.monotonic())
            elif is_watch(call) and len(expired) < 3:
                expired.append(world.clock.monotonic())
                return answer_of(GONE)
            return None

        world.faults.refuse = refuse
        for number in (1, 2, 3):
            world.faults.cut()
            await world.until(lambda number=number: len(expired) == len(began) == number)  # type: ignore[misc]
            await world.settle()
        # The first expiry costs no time; the delays of the next ones grow, as those of the cut connections do.
        assert [after - before for before, after in zip(expired, began, strict=True)] == pytest.approx([0.0, 2.4, 9.6])


async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(world: World) -> None:
    informer = await world.followed()
    refused: list[float] = []

    def refuse(call: Call) -> Answer | None:
        if is_watch(call) and len(refused) < 2:
            refused.append(world.clock.monotonic())
            return answer_of(TooManyRequests.of(retry_after_seconds=7), "7")
        return None

    world.faults.refuse = refuse
    world.faults.cut()
    await world.client.create(config_map("a"))
    await world.until(lambda: "default/a" in informer.store)
    assert refused[1] - refused[0] == pytest.approx(7)
    assert [reflector.lists for reflector in informer.feed.reflectors] == [1]


async def test_an_error_of_the_server_in_a_watch_is_followed_by_a_list(world: World) -> None:
    informer = await world.followed()
    once = [True]

    def interrupt(call: Call, number: int, line: bytes) -> bytes:
        if once:
            once.clear()
            return error_event(InternalError.of("the disk is full"))
        return line

    world.faults.interrupt = interrupt
    await world.client.create(config_map("a"))
    await world.until(lambda: "default/a" in informer.store)
    assert [reflector.lists for reflector in informer.feed.reflectors] == [2]


async def test_a_missing_right_is_named_with_the_rule_that_would_give_it(world: World) -> None:
    await world.cache.client.resource(CONFIG_MAP)
    forbidden = Forbidden.of(GroupResource("", "configmaps"), "", "user jane may not")
    world.faults.refuse = lambda call: answer_of(forbidden) if is_watch(call) or is_list(call) else None
    informer = world.cache.acquire(CONFIG_MAP, "shop")
    await world.settle()
    assert informer.state == FAILING
    assert isinstance(informer.last_error, Forbidden)
    rule = '{apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}'
    assert f"add the rule {rule} to a Role in namespace 'shop'" in informer.problem
    assert informer.since == world.clock.now()
    world.faults.refuse = lambda call: None
    await world.until(lambda: informer.synced)


async def test_a_kind_that_is_not_installed_yet_is_there_when_it_is(world: World) -> None:
    informer = world.cache.acquire("example.com/v1/Widget")
    await world.settle()
    assert informer.state == FAILING
    assert informer.problem.startswith("not installed: ")
    await world.client.create(Widget.crd())
    informer.feed.retry_now()  # or after the next wait
    await world.settle()
    assert informer.synced


async def test_a_server_that_falls_silent_is_left_for_a_new_connection(world: World) -> None:
    informer = await world.followed()
    await world.advance(61)  # a bookmark: it is known to send them
    silent = [True]
    world.faults.interrupt = lambda call, number, line: b"" if silent else line
    await world.client.create(config_map("a"))
    await world.advance(170)
    assert "default/a" not in informer.store
    silent.clear()
    await world.advance(80)
    assert "default/a" in informer.store


async def test_nonsense_from_the_server_is_survived(world: World) -> None:
    informer = await world.followed()
    nonsense = [b"{", b'{"type": "ADDED", "object": {"metadata": 7}}', b'{"type": "SOMETHING", "object": {}}']
    world.faults.interrupt = lambda call, number, line: (nonsense.pop(0) + b"\n" if nonsense else b"") + line
    await world.client.create(config_map("a"))
    await world.until(lambda: "default/a" in informer.store)
    await world.client.create(config_map("b"))
    await world.until(lambda: names(informer) == ["a", "b"] and not nonsense, 600)


async def test_stopping_says_so(world: World) -> None:
    informer = await world.followed()
    await world.cache.close()
    assert informer.state == STOPPED
    assert not informer.synced
