"""Under every fault the informer ends with what the server has, and each handler has heard a history that could be.

The faults: a watch that is cut before or after any event, 410 at any time, in a list too; a server that answers 429 and
500, that cannot be reached, that is slow, that is started anew on the same file.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cache.faults import CONFIG_MAP, GONE, TOO_LARGE, World, answer_of, config_map, error_event, new_world
from tests.cache.test_reflector import CUT, NO_STREAMS, REFUSED, is_list, is_watch, streams_list

from setpoint.client.transport import Answer, Call, TransportError
from setpoint.objects.errors import APIError, InternalError, NotFound, TooManyRequests
from setpoint.objects.ids import SeededIds
from setpoint.plane import ControlPlane

# Runs hundreds of random cases.
pytestmark = pytest.mark.slow


class Witness:
    """A handler that holds what it hears to the rules."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, str]] = {}
        self.complaints: list[str] = []

    def __call__(self, change: Any) -> None:
        try:
            self._hold(change)
        except (AssertionError, KeyError) as error:
            self.complaints.append(f"{change.held.meta.key}: {error}")

    def _hold(self, change: Any) -> None:
        meta = change.held.meta
        before = self.known.get(meta.key)
        if change.old is None:
            assert before is None, "it came though it was there"
        else:
            assert before is not None, "it changed or went though it was not there"
        if change.new is None:
            del self.known[meta.key]
            return
        after = (meta.uid, meta.resource_version)
        if before is not None:
            assert change.old.meta.resource_version == before[1], "it was not as it had been told"
            assert int(before[1]) < int(after[1]), "it went back in its history"
        self.known[meta.key] = after


async def state_of(world: World) -> dict[str, tuple[str, str]]:
    listing = await world.client.list(CONFIG_MAP, "default")
    return {
        f"default/{item['metadata']['name']}": (item["metadata"]["uid"], item["metadata"]["resourceVersion"])
        for item in listing.items
    }


async def act(world: World, step: int, name: str) -> None:
    """One write of a history."""
    try:
        if step == 0:
            await world.client.delete(CONFIG_MAP, name, "default")
        else:
            await _put(world, name, step)
    except NotFound:
        pass


async def _put(world: World, name: str, step: int) -> None:
    try:
        await world.client.get(CONFIG_MAP, name, "default")
    except NotFound:
        await world.client.create(config_map(name, k=str(step)))
    else:
        await world.client.update(config_map(name, k=f"{step} {world.clock.monotonic()}"))


def same(informer: Any, witness: Witness, state: dict[str, tuple[str, str]]) -> bool:
    kept = {key: (held.meta.uid, held.meta.resource_version) for key, held in informer.store._entries.items()}
    assert witness.complaints == []
    return bool(kept == state == witness.known)


REFUSALS: list[Answer | TransportError] = [
    REFUSED,
    CUT,
    answer_of(GONE),
    answer_of(TOO_LARGE),
    answer_of(NO_STREAMS),
    answer_of(TooManyRequests.of(retry_after_seconds=1), "1"),
    answer_of(InternalError.of("no")),
]
ENDS: list[bytes | TransportError | None] = [None, CUT, error_event(GONE), error_event(InternalError.of("no"))]

writes = st.tuples(st.just("write"), st.integers(0, 3), st.sampled_from("abc"))
refusals = st.tuples(st.just("refuse"), st.integers(0, len(REFUSALS) - 1), st.integers(1, 3))
ends = st.tuples(st.just("end"), st.integers(0, len(ENDS) - 1), st.integers(0, 2))
pauses = st.tuples(st.just("wait"), st.sampled_from([0, 1, 40]), st.just(0))
cuts = st.tuples(st.just("cut"), st.just(0), st.just(0))


@settings(max_examples=60)
@given(st.lists(st.one_of(writes, writes, writes, refusals, ends, pauses, cuts), max_size=25), st.booleans())
def test_whatever_fails_the_end_is_what_the_server_has(history: list[tuple[str, int, Any]], streams: bool) -> None:
    async def test(world: World) -> None:
        refused: list[Answer | TransportError] = []
        ending: list[tuple[int, Any]] = []

        def refuse(call: Call) -> Answer | TransportError | None:
            if not streams and streams_list(call):
                return answer_of(NO_STREAMS)
            return refused.pop() if refused and (is_watch(call) or is_list(call)) else None

        def interrupt(call: Call, number: int, line: bytes) -> bytes | TransportError | None:
            if ending and number >= ending[0][0]:
                found: bytes | TransportError | None = ending.pop(0)[1]
                return found
            return line

        world.faults.refuse, world.faults.interrupt = refuse, interrupt
        informer = world.cache.acquire(CONFIG_MAP, "default")
        witness, late = Witness(), Witness()
        informer.add_handler(witness)
        for what, which, how in history:
            if what == "write":
                await act(world, which, how)
            elif what == "refuse":
                refused += [REFUSALS[which]] * how
            elif what == "end":
                ending.append((how, ENDS[which]))
            elif what == "cut":
                world.faults.cut()
            elif which:
                await world.advance(which)
            else:
                await world.settle()
        informer.add_handler(late)
        refused.clear()
        ending.clear()
        state = await state_of(world)
        await world.until(lambda: informer.state == "watching" and same(informer, witness, state), 700)
        assert late.known == witness.known
        assert late.complaints == []

    async def main() -> None:
        async with new_world() as world:
            await test(world)

    asyncio.run(main())


@pytest.mark.parametrize("place", range(12))
@pytest.mark.parametrize("end", ENDS, ids=["ended", "cut in the middle of an event", "410", "500"])
async def test_a_watch_that_ends_before_any_event_loses_and_doubles_nothing(world: World, end: Any, place: int) -> None:
    await world.client.create(config_map("a"))
    await world.client.create(config_map("b"))
    seen = [0]

    def interrupt(call: Call, number: int, line: bytes) -> bytes | TransportError | None:
        seen[0] += 1
        if seen[0] - 1 == place:
            found: bytes | TransportError | None = end
            return found
        return line

    world.faults.interrupt = interrupt
    informer = world.cache.acquire(CONFIG_MAP, "default")
    witness = Witness()
    informer.add_handler(witness)
    await world.settle()
    for step, name in ((1, "a"), (0, "b"), (1, "c"), (2, "c"), (1, "b"), (0, "a")):
        await act(world, step, name)
        await world.settle()
    state = await state_of(world)
    await world.until(lambda: same(informer, witness, state))


async def test_a_watch_that_is_cut_after_every_event_still_brings_each_once(world: World) -> None:
    informer = await world.followed()
    heard: list[str] = []
    informer.add_handler(lambda change: heard.append(change.held.meta.name), replay=False)
    world.faults.interrupt = lambda call, number, line: line if number == 0 else CUT
    for number in range(30):
        await world.client.create(config_map(f"m{number:02}"))
    await world.until(lambda: "default/m29" in informer.store, 300)
    assert heard == [f"m{number:02}" for number in range(30)]
    assert [reflector.lists for reflector in informer.feed.reflectors] == [1]


async def test_a_server_that_is_started_anew_on_its_file_is_followed_on(world: World, tmp_path: Path) -> None:
    # The world's own server is not asked: the one on the file is.
    informer = None
    witness = Witness()
    for turn in range(3):
        plane = ControlPlane(f"sqlite:{tmp_path / 'db'}", clock=world.clock, ids=SeededIds(turn), system=False)
        async with plane, plane.client() as client:
            world.client = client
            world.faults.inner = client.transport
            world.faults.refuse = lambda call: None
            if informer is None:
                informer = world.cache.acquire(CONFIG_MAP, "default")
                informer.add_handler(witness)
            await act(world, 1, f"m{turn}")
            await act(world, turn, "m0")
            state = await state_of(world)
            await world.until(lambda: same(informer, witness, state))  # noqa: B023
            world.faults.refuse = lambda call: REFUSED
        world.faults.cut()
        await world.advance(20)
        assert informer.state == "failing"


@pytest.mark.parametrize("error", [TooManyRequests.of(), InternalError.of("no"), GONE], ids=["429", "500", "410"])
async def test_a_server_that_refuses_half_of_all_requests_is_followed_all_the_same(
    world: World, error: APIError
) -> None:
    turn = [0]

    def refuse(call: Call) -> Answer | None:
        turn[0] += 1
        return answer_of(error) if turn[0] % 2 and (is_watch(call) or is_list(call)) else None

    world.faults.refuse = refuse
    informer = world.cache.acquire(CONFIG_MAP, "default")
    witness = Witness()
    informer.add_handler(witness)
    for number in range(5):
        await act(world, number, "a")
        world.faults.cut()
        await world.advance(1)
    state = await state_of(world)
    await world.until(lambda: same(informer, witness, state), 300)


async def test_a_slow_server_is_waited_for(world: World) -> None:
    inner = world.faults.inner

    class Slow:
        async def send(self, call: Call) -> Answer:
            await world.clock.sleep(20)
            return await inner.send(call)

        def stream(self, call: Call) -> Any:
            return inner.stream(call)

        async def close(self) -> None: ...

    world.faults.inner = Slow()
    world.faults.refuse = lambda call: answer_of(NO_STREAMS) if streams_list(call) else None
    await world.client.create(config_map("a"))
    informer = world.cache.acquire(CONFIG_MAP, "default")
    await world.until(lambda: informer.synced)
    assert "default/a" in informer.store
    assert len(world.faults.lists) == 1


async def test_a_burst_does_not_keep_others_from_their_turn(world: World) -> None:
    for number in range(1500):
        await world.client.create(config_map(f"m{number}"))
    turns = [0]

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(other())
    informer = world.cache.acquire(CONFIG_MAP, "default")
    await informer.wait_synced()
    beside.cancel()
    assert turns[0] > 3
