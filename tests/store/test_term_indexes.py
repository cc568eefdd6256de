"""Indexes of the current objects by their terms: complete, up to date, and bounded in number."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.cached import HeldState, Range, StateCache, Term, TermIndexes, Wanted, index_users, term_indexes
from setpoint.store.cached.index_users import IndexUsers
from setpoint.store.contract import ANY, Item, Store
from setpoint.store.memory import MemoryStore
from setpoint.store.sqlite import SqliteStore

ACTOR = Actor("tester")
MAPS = "/core/configmaps/"


class Terms:
    """Reads `name=value,name=value`, where a value may have several parts, and counts the values that were read."""

    def __init__(self) -> None:
        self.reads = 0

    def parse(self, item: Item) -> Mapping[str, str]:
        self.reads += 1
        return dict(pair.split("=") for pair in item.value.decode().split(",")) if item.value else {}

    def __call__(self, name: str, value: str) -> Wanted:
        return Wanted(Term(name, self.parse, lambda found: found[name].split("+") if name in found else ()), value)


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
async def indexes(store: Store) -> AsyncIterator[TermIndexes]:
    assert isinstance(store, HeldState)
    indexes = TermIndexes(store)
    indexes.least = 0
    yield indexes
    indexes.close()


async def put(store: Store, name: str, value: str | None) -> int:
    return await store.commit(MAPS + name, None if value is None else value.encode(), ANY, ACTOR)


class Names(Protocol):
    """Returns the names of the objects with a value; None if there is no index."""

    async def __call__(
        self, value: str, prefix: str = MAPS, *, name: str = "color", user: str = "jane"
    ) -> list[str] | None: ...


@pytest.fixture
def names(indexes: TermIndexes, terms: Terms) -> Names:
    async def names(value: str, prefix: str = MAPS, *, name: str = "color", user: str = "jane") -> list[str] | None:
        found = await indexes.select(user, [terms(name, value)], Range(prefix))
        return None if found is None else [item.key.removeprefix(MAPS) for item in found.items]

    return names


async def test_the_second_use_builds_an_index_and_later_uses_read_only_the_matches(
    store: Store, names: Names, terms: Terms
) -> None:
    for number in range(300):
        await put(store, f"a/{number:03d}", "color=red" if number % 100 == 0 else "color=blue")
    assert await names("red") is None
    assert terms.reads == 0
    assert await names("red") == ["a/000", "a/100", "a/200"]
    assert terms.reads == 300
    assert await names("red") == ["a/000", "a/100", "a/200"]
    assert await names("green") == []
    assert await names("red", MAPS + "b/") == []
    assert terms.reads == 300


async def test_an_index_follows_all_changes(store: Store, indexes: TermIndexes, names: Names, terms: Terms) -> None:
    await put(store, "a", "color=red")
    await names("red")
    assert await names("red") == ["a"]
    await put(store, "b", "color=red,size=1")
    await put(store, "a", "color=blue")
    assert (await names("red"), await names("blue")) == (["b"], ["a"])
    await put(store, "b", None)
    last = await put(store, "a", "size=1")
    assert (await names("red"), await names("blue")) == ([], [])
    found = await indexes.select("jane", [terms("color", "red")], Range(MAPS))
    assert found is not None
    assert found.revision == last


async def test_an_object_can_have_several_values(store: Store, names: Names) -> None:
    await put(store, "a", "color=red+blue")
    await put(store, "b", "color=blue")
    await names("red")
    assert (await names("red"), await names("blue")) == (["a"], ["a", "b"])
    await put(store, "a", "color=blue+green+green")
    assert [await names(each) for each in ("red", "blue", "green")] == [[], ["a", "b"], ["a"]]
    await put(store, "a", None)
    assert [await names(each) for each in ("blue", "green")] == [["b"], []]


async def test_changes_while_an_index_is_built_are_in_the_index(store: Store, names: Names) -> None:
    for number in range(500):
        await put(store, f"{number:03d}", "color=red")
    await names("red")
    building = [asyncio.create_task(names("red")) for _ in range(3)]
    await asyncio.sleep(0)
    await put(store, "000", "color=blue")
    await put(store, "499", None)
    await put(store, "500", "color=red")
    expected = [f"{number:03d}" for number in (*range(1, 499), 500)]
    await asyncio.gather(*building)
    assert await names("red") == expected


async def test_an_index_of_large_objects_is_built_in_short_turns(store: Store, names: Names, terms: Terms) -> None:
    for number in range(20):
        await put(store, f"{number:02d}", f"color=red,data={'x' * 100_000}")
    await names("red")
    building = asyncio.create_task(names("red"))
    most = before = 0
    while not building.done():
        await asyncio.sleep(0)
        most, before = max(most, terms.reads - before), terms.reads
    assert len(await building or ()) == 20
    assert 1 <= most <= 4, "few objects in one turn"


async def test_changes_while_matches_are_read_are_not_in_the_result(
    store: Store, indexes: TermIndexes, names: Names, terms: Terms
) -> None:
    for number in range(300):
        await put(store, f"{number:03d}", "color=red")
    await names("red")
    await names("red")
    changes = iter([("000", None), ("299", "color=blue"), ("300", "color=red")])

    async def change() -> None:
        name, value = next(changes)
        await put(store, name, value)

    found = await indexes.select("jane", [terms("color", "red")], Range(MAPS), change)
    assert found is not None
    assert found.revision == 300
    assert [(item.key, item.value) for item in found.items] == [
        (f"{MAPS}{number:03d}", b"color=red") for number in range(300)
    ]
    assert next(changes) == ("300", "color=red"), "others ran twice"


async def test_a_recent_revision_and_pages_come_from_the_index(
    store: Store, indexes: TermIndexes, names: Names, terms: Terms
) -> None:
    for number in range(9):
        await put(store, f"{number}", "color=red" if number % 2 else "color=blue")
    await names("red")
    await names("red")
    revision = await store.revision()

    async def page(after: str, limit: int = 2, at: int | None = revision) -> tuple[list[str], bool] | None:
        found = await indexes.select("jane", [terms("color", "red")], Range(MAPS, MAPS + after, limit, at))
        if found is None:
            return None
        # Objects that changed since then may not have the value.
        return [item.key.removeprefix(MAPS) for item in found.items if b"red" in item.value], found.more

    reads = terms.reads
    assert await page("") == (["1", "3"], True)
    await put(store, "1", None)
    await put(store, "2", "color=red")
    await put(store, "5", "color=blue")
    await put(store, "6", None)
    await put(store, "8a", "color=red")
    assert await page("", 0) == (["1", "3", "5", "7"], False)
    assert await page("3", 1) == (["5"], True)
    assert await page("5", 3) == (["7"], False)
    assert terms.reads == reads + 3, "only the changed objects were read"
    assert await page("", 0, revision - 1) is None, "the index is younger"
    assert await page("", 0, revision + 100) is None
    await store.compact(await store.revision())
    assert await page("", 0) is None


async def test_the_rarest_of_several_terms_is_used(
    store: Store, indexes: TermIndexes, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_indexes, "_MANY", 10)
    for number in range(50):
        await put(store, f"{number:02d}", f"color=red,size={number % 25}")
    wanted = [terms("color", "red"), terms("size", "7")]
    assert await indexes.select("jane", wanted, Range(MAPS)) is None
    found = await indexes.select("jane", wanted, Range(MAPS))
    assert found is not None
    assert [item.key for item in found.items] == [MAPS + "07", MAPS + "32"]


async def test_a_small_part_of_the_objects_builds_no_index_of_all_of_them(
    store: Store, indexes: TermIndexes, names: Names
) -> None:
    for number in range(100):
        await put(store, f"{'small' if number < 5 else 'large'}/{number:02d}", "color=red")
    for _ in range(5):
        assert await names("red", MAPS + "small/") is None
    assert indexes.number == 0
    assert await names("red", MAPS + "small/") == [f"small/{number:02d}" for number in range(5)]


# --- Bounds ---


async def test_the_number_of_indexes_of_a_user_is_bounded(
    store: Store, indexes: TermIndexes, names: Names, terms: Terms
) -> None:
    await put(store, "a", ",".join(f"name-{number}=1" for number in range(40)))
    for number in range(40):
        await names("1", name=f"name-{number}")
        assert await names("1", name=f"name-{number}") == ["a"]
    assert indexes.number == index_users.USER_INDEXES
    terms.reads = 0
    assert await names("1", name="name-39") == ["a"]
    assert terms.reads == 0
    assert await names("1", name="name-0") is None, "the index was dropped"


async def test_a_user_replaces_only_indexes_of_its_own(
    store: Store, indexes: TermIndexes, names: Names, terms: Terms
) -> None:
    await put(store, "a", ",".join(f"name-{number}=1" for number in range(40)))
    for name in ("name-38", "name-39"):
        for _ in range(2):
            await names("1", name=name)
    assert await names("1", name="name-38", user="joe") == ["a"], "an index serves all users"
    for number in range(39):
        for _ in range(2):
            await names("1", name=f"name-{number}", user="joe")
    terms.reads = 0
    assert await names("1", name="name-39") == ["a"]
    assert await names("1", name="name-38") == ["a"]
    assert terms.reads == 0, "both indexes of the first user remained"
    assert indexes.number == index_users.USER_INDEXES + 1, "both users have one of them"


async def test_the_user_with_the_most_indexes_makes_room(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_indexes, "_INDEXES", 5)
    await put(store, "a", ",".join(f"name-{number}=1" for number in range(10)))
    for user, numbers in (("jane", range(1)), ("joe", range(1, 8)), ("jim", range(8, 10))):
        for number in numbers:
            for _ in range(2):
                await names("1", name=f"name-{number}", user=user)
    assert indexes.number == 5
    kept = [number for number in range(10) if await names("1", name=f"name-{number}", user="other") is not None]
    assert kept == [0, 6, 7, 8, 9], "joe, who has the most indexes, lost the oldest"


async def test_first_uses_of_one_user_do_not_hide_those_of_others(store: Store, names: Names) -> None:
    await put(store, "a", "color=red")
    assert await names("red") is None
    for number in range(500):
        assert await names("red", name=f"name-{number}", user="joe") is None
    assert await names("red") == ["a"]


async def test_the_number_of_remembered_users_is_bounded(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_users, "_USERS", 3)
    await put(store, "a", ",".join(f"name-{number}=1" for number in range(5)))
    for number in range(5):
        for _ in range(2):
            await names("1", name=f"name-{number}", user=f"user-{number}")
    assert indexes.number == 3


async def test_the_number_of_users_with_first_uses_is_bounded(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_users, "_USERS", 3)
    await put(store, "a", "color=red")
    for number in range(20):
        assert await names("red", user=f"user-{number}") is None
    assert len(indexes._users._first_uses) == 3


async def test_use_of_an_index_visits_no_other_user(
    store: Store, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, "a", "color=red")
    for number in range(10):
        await names("red", user=f"user-{number}")
        await names("red", user=f"user-{number}")
    visits = 0
    entries = IndexUsers._entries

    def counted(self: IndexUsers, user: str) -> int:
        nonlocal visits
        visits += 1
        return entries(self, user)

    monkeypatch.setattr(IndexUsers, "_entries", counted)
    assert await names("red", user="user-3") == ["a"]
    assert visits == 1


async def test_a_compacted_revision_is_not_read_from_an_index(
    store: Store, indexes: TermIndexes, names: Names, terms: Terms
) -> None:
    at = await put(store, "a", "color=red")
    await names("red")
    await names("red")
    await put(store, "b", "color=blue")
    last = await put(store, "c", "color=blue")
    red = [terms("color", "red")]
    assert await indexes.select("jane", red, Range(MAPS, "", 0, at)) is not None
    await store.compact(last)
    assert await indexes.select("jane", red, Range(MAPS, "", 0, at)) is None


async def test_the_number_of_indexed_objects_is_bounded(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_indexes, "_ENTRIES", 10)
    for number in range(8):
        await put(store, f"{number}", "color=red,size=1")
    for name, value in (("color", "red"), ("size", "1")):
        await names(value, name=name)
        assert len(await names(value, name=name) or ()) == 8
    assert len(indexes) == 8, "the second index replaced the first"
    for number in range(8, 12):
        await put(store, f"{number}", "color=red,size=1")
    assert len(indexes) == 0, "changes are bounded, too"
    for _ in range(2):
        assert await names("red") is None, "one index exceeds the bound, and is not kept"


async def test_the_number_of_indexed_objects_of_a_user_is_bounded(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_users, "USER_ENTRIES", 10)
    for number in range(8):
        await put(store, f"{number}", "color=red,size=1,shape=a" if number else "color=red,size=1,shape=a,rare=1")
    for user, name, value in (
        ("jane", "color", "red"),
        ("joe", "rare", "1"),
        ("joe", "size", "1"),
        ("joe", "shape", "a"),
    ):
        await names(value, name=name, user=user)
        assert await names(value, name=name, user=user) is not None
    assert len(indexes) == 8 + 8
    assert await names("1", name="size", user="other") is None, "the last index of the user replaced the others"
    assert await names("red", user="other") is not None


async def test_an_index_without_use_is_dropped(
    store: Store, indexes: TermIndexes, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_indexes, "_UNUSED", 5)
    for number in range(10):
        await put(store, f"{number}", "color=red")
    await names("red")
    await names("red")
    for _ in range(3):
        for number in range(9):
            await put(store, "0", f"color=red,size={number}")
        assert await names("red") is not None, "a use keeps the index"
    for number in range(11):
        await put(store, "0", f"color=red,size={number}")
    assert indexes.number == 0, "more changes than objects to read"


async def test_an_unreadable_object_drops_the_index_and_fails_no_write(
    store: Store, indexes: TermIndexes, names: Names
) -> None:
    await put(store, "a", "color=red")
    await names("red")
    assert await names("red") == ["a"]
    await put(store, "b", "no pair")
    assert indexes.number == 0


async def test_a_restored_state_has_new_indexes(store: Store, names: Names) -> None:
    await put(store, "a", "color=red")
    snapshot = await store.snapshot()
    await names("red")
    await put(store, "b", "color=red")
    assert await names("red") == ["a", "b"]
    await store.restore(snapshot)
    await names("red")
    assert await names("red") == ["a"]


async def test_few_objects_have_no_index(store: Store, indexes: TermIndexes, names: Names) -> None:
    indexes.least = 3
    for name in ("a", "b"):
        await put(store, name, "color=red")
    for _ in range(3):
        assert await names("red") is None
    await put(store, "c", "color=red")
    await names("red")
    assert await names("red") == ["a", "b", "c"]
