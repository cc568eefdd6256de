"""Watches that start together: their initial events are encoded once, and few of them are sent in one turn."""

import asyncio
from typing import Any

import pytest

from setpoint.server.message import Frame
from setpoint.server.verbs.watch_forms import ObjectForm
from setpoint.server.watch.starts import InitialEvents, SharedStarts, StartTurns
from setpoint.store.contract import Item

from .reader import MAPS, PARTIAL, reading

WATCHES, OBJECTS = 20, 5


class Encoded:
    """Counts the initial events that are encoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        item = ObjectForm.item

        def counted(form: ObjectForm, each: Item) -> bytes:
            self.count += 1
            return item(form, each)

        monkeypatch.setattr(ObjectForm, "item", counted)


async def test_watches_of_one_revision_share_their_initial_events(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = Encoded(monkeypatch)
    async with reading() as reader:
        for number in range(OBJECTS):
            await reader.create(MAPS, f"a{number}", labels={"app": "a"}, data={"text": "x" * 10_000})
        await reader.create(MAPS, "b", labels={"app": "b"})
        expected = [("ADDED", f"a{number}") for number in range(OBJECTS)]
        for _ in range(WATCHES):
            watch = await reader.watch(labelSelector="app=a")
            assert await watch.told(OBJECTS) == expected
        assert encoded.count == OBJECTS
        other = await reader.watch(labelSelector="app=b")
        assert await other.told(1) == [("ADDED", "b")]
        assert encoded.count == OBJECTS + 1
        await reader.patch(f"{MAPS}/a0", {"metadata": {"labels": {"app": "b"}}})
        watch = await reader.watch(labelSelector="app=a")
        assert await watch.told(OBJECTS - 1) == expected[1:]
        assert encoded.count == 2 * OBJECTS


async def test_watches_of_other_forms_and_namespaces_do_not_share() -> None:
    async with reading() as reader:
        await reader.create(MAPS, "a", data={"k": "v"})
        whole = await reader.watch()
        (event,) = await whole.events(1)
        assert event["object"]["data"] == {"k": "v"}
        metadata = await reader.watch(accept=PARTIAL)
        (event,) = await metadata.events(1)
        assert event["object"]["kind"] == "PartialObjectMetadata"
        elsewhere = await reader.watch(MAPS.replace("default", "kube-system"))
        assert await elsewhere.told(0) == []


async def test_shared_watches_end_with_bookmarks_of_their_own_and_are_counted() -> None:
    options: dict[str, Any] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with reading() as reader:
        await reader.create(MAPS, "a")
        for bookmarks in ("true", "false", "true"):
            watch = await reader.watch(allowWatchBookmarks=bookmarks, **options)
            types = [event["type"] for event in await watch.events(2 if bookmarks == "true" else 1)]
            assert types == (["ADDED", "BOOKMARK"] if bookmarks == "true" else ["ADDED"])


def test_shared_events_are_those_of_one_revision_and_bounded() -> None:
    starts = SharedStarts()
    small = InitialEvents([Frame(b"x" * 100)], b"y", [100, 1])
    starts.put(1, "a", small)
    assert starts.get(1, "a") is small
    assert starts.get(2, "a") is None
    starts.put(1, "large", InitialEvents([], b"", [1 << 20]))
    assert starts.get(1, "large") is None
    starts.put(2, "b", small)
    assert starts.get(1, "a") is None
    starts.clear()
    assert starts.get(2, "b") is None


async def test_many_starts_are_divided_among_turns() -> None:
    turns, turn, sent = StartTurns(), 0, []

    def tick() -> None:
        nonlocal turn
        turn += 1
        loop.call_soon(tick)

    async def start(number: int) -> None:
        await turns.next()
        turns.sent(100 << 10)
        sent.append((turn, number))

    loop = asyncio.get_running_loop()
    loop.call_soon(tick)
    cancelled = asyncio.ensure_future(start(-1))
    tasks = [asyncio.ensure_future(start(number)) for number in range(50)]
    cancelled.cancel()
    await asyncio.gather(*tasks)
    assert sorted(number for _, number in sent) == list(range(50))
    each = [found for found, _ in sent]
    assert max(each.count(found) for found in each) <= 4


async def test_a_start_after_small_ones_does_not_wait() -> None:
    turns = StartTurns()
    for _ in range(10):
        turns.sent(1000)
        waiting = turns.next()
        with pytest.raises(StopIteration):
            waiting.send(None)
