"""A watch that is not read costs nothing: not the writer, not another watch, and no memory."""

import asyncio
import tracemalloc

import pytest

from setpoint.objects.clock import ManualClock
from setpoint.objects.provenance import Actor
from setpoint.store.contract import ANY, Retention, TooLate, Watch
from setpoint.store.follow import Cursor, Followers
from setpoint.store.memory import MemoryStore

from .conftest import START, StoreFactory

ACTOR = Actor("writer")


async def read_on(watch: Watch, told: list[int]) -> None:
    while True:
        told += [event.entry.revision for event in await asyncio.wait_for(watch.next(), 30)]


async def test_a_slow_watch_is_told_it_is_too_late(store_factory: StoreFactory) -> None:
    async with store_factory(Retention(revisions=50)) as store:
        slow, quick = store.watch("", after=0), store.watch("", after=0)
        seen: list[int] = []

        async def follow() -> None:
            while len(seen) < 500:
                seen.extend(event.entry.revision for event in await quick.next())

        following = asyncio.create_task(follow())
        for n in range(500):
            await store.commit("a", b"%d" % n, ANY, ACTOR)
            await asyncio.sleep(0)
        await asyncio.wait_for(following, 30)
        await store.maintain()
        assert seen == list(range(1, 501))
        # One that buffers may still have the beginning; in the end it must learn what it missed.
        told: list[int] = []
        with pytest.raises(TooLate) as late:
            await read_on(slow, told)
        assert told == list(range(1, len(told) + 1))
        assert late.value.oldest == await store.oldest() == 450
        slow.close()
        quick.close()


async def test_the_memory_of_unread_watches_is_bounded() -> None:
    """A thousand watches that nobody reads hold their places, and nothing of what was written since."""
    store = MemoryStore(clock=ManualClock(START), retention=Retention(revisions=100))
    watches = [store.watch("") for _ in range(1000)]
    value = bytes(2000)
    for n in range(200):
        await store.commit("a", value + b"%d" % n, ANY, ACTOR)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for n in range(3000):
        await store.commit("a", value + b"%d" % n, ANY, ACTOR)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    written = 3000 * len(value)
    assert after - before < written / 10
    for watch in watches:
        with pytest.raises(TooLate):
            await watch.next()
    await store.close()


async def test_a_commit_wakes_only_those_it_concerns(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[str] = []
    wake = Cursor.wake

    def noted(cursor: Cursor, revision: int) -> None:
        woken.append(cursor.prefix)
        wake(cursor, revision)

    monkeypatch.setattr(Cursor, "wake", noted)
    store = MemoryStore()
    prefixes = [f"ns-{n}/" for n in range(50)]
    watches = [store.watch(prefix) for prefix in [*prefixes, "", "ns-7/pod"]]
    tasks = [asyncio.create_task(watch.next()) for watch in watches]
    await asyncio.sleep(0)
    await store.commit("ns-7/x", b"1", ANY, ACTOR)
    assert sorted(woken) == ["", "ns-7/"]
    assert [watch.revision for watch in watches[:3]] == [1, 1, 1]
    await asyncio.sleep(0)
    assert sum(task.done() for task in tasks) == 2
    await store.close()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_nobody_who_left_is_remembered() -> None:
    store = MemoryStore()
    watch = store.watch("a")
    for _ in range(3):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(watch.next(), 0.001)
    followers: Followers = store._followers
    assert followers.waiting == {}
    await store.close()


async def test_only_one_task_waits_for_a_watch() -> None:
    store = MemoryStore()
    watch = store.watch("")
    first = asyncio.create_task(watch.next())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="another task"):
        await watch.next()
    await store.commit("a", b"1", ANY, ACTOR)
    assert len(await first) == 1
    await store.close()
