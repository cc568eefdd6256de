"""Indexes of the current objects by their terms: complete, up to date, and bounded in number."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.cached import HeldState, StateCache, TermIndexes, term_indexes
from setpoint.store.contract import ANY, Store
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore

ACTOR = Actor("tester")
MAPS = "/core/configmaps/"


class Terms:
    """Reads `name=value,name=value`, and counts the values that were read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, value: bytes) -> Mapping[str, str] | None:
        self.reads += 1
        return dict(pair.split("=") for pair in value.decode().split(",")) if value else None


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore()
    if request.param == "sqlite":
        opened = StateCache(await SqliteStore.open(tmp_path / "store.db", durability="off"))
    yield opened
    await opened.close()


@pytest.fixture
def terms() -> Terms:
    return Terms()


@pytest.fixture
async def indexes(store: Store, terms: Terms) -> AsyncIterator[TermIndexes]:
    assert isinstance(store, HeldState)
    indexes = TermIndexes(store, terms)
    yield indexes
    indexes.close()


async def put(store: Store, name: str, value: str | None) -> int:
    return await store.commit(MAPS + name, None if value is None else value.encode(), ANY, ACTOR)


async def names(indexes: TermIndexes, value: str, prefix: str = MAPS, name: str = "color") -> list[str] | None:
    found = await indexes.select(prefix, name, value)
    return None if found is None else [item.key.removeprefix(MAPS) for item in found.items]


async def test_the_second_use_builds_an_index_and_later_uses_read_only_the_matches(
    store: Store, indexes: TermIndexes, terms: Terms
) -> None:
    for number in range(300):
        await put(store, f"a/{number:03d}", "color=red" if number % 100 == 0 else "color=blue")
    assert await names(indexes, "red") is None
    assert terms.reads == 0
    assert await names(indexes, "red") == ["a/000", "a/100", "a/200"]
    assert terms.reads == 300
    assert await names(indexes, "red") == ["a/000", "a/100", "a/200"]
    assert await names(indexes, "green") == []
    assert await names(indexes, "red", MAPS + "b/") == []
    assert terms.reads == 300


async def test_an_index_follows_all_changes(store: Store, indexes: TermIndexes) -> None:
    await put(store, "a", "color=red")
    await names(indexes, "red")
    assert await names(indexes, "red") == ["a"]
    await put(store, "b", "color=red,size=1")
    await put(store, "a", "color=blue")
    assert (await names(indexes, "red"), await names(indexes, "blue")) == (["b"], ["a"])
    await put(store, "b", None)
    last = await put(store, "a", "size=1")
    assert (await names(indexes, "red"), await names(indexes, "blue")) == ([], [])
    found = await indexes.select(MAPS, "color", "red")
    assert found is not None
    assert found.revision == last


async def test_changes_while_an_index_is_built_are_in_the_index(store: Store, indexes: TermIndexes) -> None:
    for number in range(500):
        await put(store, f"{number:03d}", "color=red")
    await names(indexes, "red")
    building = [asyncio.create_task(names(indexes, "red")) for _ in range(3)]
    await asyncio.sleep(0)
    await put(store, "000", "color=blue")
    await put(store, "499", None)
    await put(store, "500", "color=red")
    expected = [f"{number:03d}" for number in (*range(1, 499), 500)]
    await asyncio.gather(*building)
    assert await names(indexes, "red") == expected


async def test_the_number_of_indexes_is_bounded(store: Store, indexes: TermIndexes, terms: Terms) -> None:
    await put(store, "a", ",".join(f"name-{number}=1" for number in range(40)))
    for number in range(40):
        await names(indexes, "1", name=f"name-{number}")
        assert await names(indexes, "1", name=f"name-{number}") == ["a"]
    terms.reads = 0
    assert await names(indexes, "1", name="name-39") == ["a"]
    assert terms.reads == 0
    assert await names(indexes, "1", name="name-0") == ["a"]
    assert terms.reads == 1, "the index was dropped, and built again"


async def test_a_restored_state_has_new_indexes(store: Store, indexes: TermIndexes) -> None:
    await put(store, "a", "color=red")
    snapshot = await store.snapshot()
    await names(indexes, "red")
    await put(store, "b", "color=red")
    assert await names(indexes, "red") == ["a", "b"]
    await store.restore(snapshot)
    assert await names(indexes, "red") == ["a"]


async def test_the_number_of_indexed_objects_is_bounded(
    store: Store, indexes: TermIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_indexes, "_ENTRIES", 10)
    for number in range(8):
        await put(store, f"{number}", "color=red,size=1")
    for name, value in (("color", "red"), ("size", "1")):
        await names(indexes, value, name=name)
        assert len(await names(indexes, value, name=name) or ()) == 8
    assert len(indexes) == 8, "the second index replaced the first"
    for number in range(8, 12):
        await put(store, f"{number}", "color=red,size=1")
    assert await names(indexes, "red") is None, "one index exceeds the bound, and is not kept"
