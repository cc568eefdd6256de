"""The log in memory: its counters and key orders agree with its versions after every operation."""

from random import Random

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.contract import LogEntry, Purge, Purged, Selection
from setpoint.store.deadlines import Deadlines
from setpoint.store.dump import load
from setpoint.store.memory.log_state import State, cost
from setpoint.store.purge_rules import is_selected, last_purged, selected

ACTOR = Actor("alice")
PURGE = Purge("root", 9.0, "leaked")


def put(state: State, key: str, value: bytes | None, deadline: float | None = None) -> int:
    """Writes as a store does: one revision per write that changes a value."""
    old = state.versions.get(key, [None])[-1]
    live = old if old is not None and old.value is not None else None
    if value == (live.value if live else None):
        return state.current
    state.current += 1
    state.append(state.current, key, value, live, float(state.current), ACTOR, None, deadline)
    return state.current


def check(state: State) -> None:
    """Compares every derived part of the state with the versions."""
    assert state.size == sum(map(cost, state.events))
    versions = state.versions
    assert all(versions.values())
    assert list(state.live.between("", None)) == sorted(key for key in versions if versions[key][-1].value is not None)
    assert list(state.deleted.between("", None)) == sorted(key for key in versions if versions[key][-1].value is None)
    for kept in versions.values():
        revisions = [entry.revision for entry in kept]
        assert revisions == sorted(revisions)
        assert [revision for revision in revisions[1:] if revision <= state.oldest] == []
    assert [event.entry for event in state.events] == sorted(
        (entry for kept in versions.values() for entry in kept if entry.revision > state.oldest),
        key=lambda entry: entry.revision,
    )
    assert set(state.deadlines.times) <= set(state.live.between("", None))


def loaded(state: State) -> State:
    made = State()
    made.load(load(state.snapshot().dump()))
    return made


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_operations_keeps_the_state_consistent(seed: int) -> None:
    random = Random(seed)
    state, snapshots = State(), []
    for _ in range(120):
        key = random.choice("abcdef")
        match random.randrange(9):
            case 0:
                put(state, key, None)
            case 1:
                state.compact(random.randint(state.oldest, state.current))
            case 2:
                snapshots.append((state.snapshot(), contents(state)))
            case 3 if snapshots and random.random() < 0.3:
                snapshot, told = random.choice(snapshots)
                state.restore(snapshot)
                assert contents(state) == told
            case 4 if random.random() < 0.3 and not snapshots:
                state.purge(key, Selection(key, through=random.randint(0, state.current)), PURGE)
            case _:
                put(state, key, random.randbytes(random.randrange(30)), random.choice((None, 5.0)))
        check(state)
        check(loaded(state))
    for snapshot, told in snapshots:
        other = State()
        other.restore(snapshot)
        check(other)
        assert contents(other) == told, "later writes and compactions do not touch a snapshot"


def contents(state: State) -> list[object]:
    return [
        {key: list(kept) for key, kept in sorted(state.versions.items())},
        list(state.live.between("", None)),
        list(state.deleted.between("", None)),
        dict(state.deadlines.times),
        state.log(0, 0),
    ]


def test_the_revision_of_the_last_purge_is_known_everywhere() -> None:
    state = State()
    assert state.purged == 0
    for value in (b"1", b"2", b"3"):
        put(state, "a", value)
    put(state, "b", b"1")
    before = state.snapshot()
    assert (before.purged, loaded(state).purged) == (0, 0)
    assert state.purge("a", Selection("a", through=1), PURGE) == 1
    assert state.purged == 2, "the event of revision 2 lost the value that it replaced"
    assert before.purged == 2
    assert loaded(state).purged == 2
    other = State()
    other.restore(before)
    assert other.purged == 2
    assert state.purge("a", Selection("a"), PURGE) == 1
    assert (state.purged, other.purged) == (3, 3)
    assert state.purge("b", Selection("b"), PURGE) == 0
    assert state.purged == 3
    check(state)
    with pytest.raises(Purged) as refused:
        state.get("a", 2)
    assert (refused.value.revision, refused.value.oldest, refused.value.purge) == (2, 3, PURGE)
    found = state.get("a", 3)
    assert found is not None
    assert found.value == b"3"


def test_a_value_that_was_current_in_a_snapshot_and_then_purged_is_not_restored() -> None:
    state = State()
    put(state, "a", b"secret", 5.0)
    put(state, "b", b"kept", 6.0)
    snapshot = state.snapshot()
    put(state, "a", b"2")
    assert state.purge("a", Selection("a"), PURGE) == 1
    other = State()
    other.restore(snapshot)
    check(other)
    assert other.get("a", None) is None
    assert dict(other.deadlines.times) == {"b": 6.0}
    assert [item.key for item in other.items("", "", 0)[0]] == ["b"]


@pytest.mark.parametrize(
    ("after", "limit", "keys", "more"),
    [("", 0, "acd", 0), ("", 1, "a", 2), ("", 2, "ac", 1), ("", 3, "acd", 0), ("a", 1, "c", 1), ("b", 9, "cd", 0)],
)
def test_a_part_of_the_items_knows_how_many_remain(after: str, limit: int, keys: str, more: int) -> None:
    state = State()
    for key in "abcd":
        put(state, key, b"1")
    put(state, "b", None)
    items, remaining = state.items("", after, limit)
    assert ("".join(item.key for item in items), remaining) == (keys, more)
    assert state.items("", after, limit, counted=False) == (items, 0)
    assert state.keys_after("", after, limit) == [key for key in "abcd" if key > after][: limit or None]


def test_history_of_a_key_has_its_versions() -> None:
    state = State()
    put(state, "a", b"1")
    put(state, "b", b"1")
    put(state, "a", None)
    put(state, "b", b"2")
    assert [entry.revision for entry in state.history("b", None, 0)] == [4, 2]
    assert [entry.revision for entry in state.history("b", None, 1)] == [4]
    assert [entry.revision for entry in state.history("b", 4, 0)] == [2]
    assert [entry.revision for entry in state.history("b", 2, 5)] == []


@pytest.mark.parametrize(("after", "limit"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (2, 2), (3, 1), (4, 0), (9, 1)])
def test_the_log_after_a_compaction_begins_with_the_state(after: int, limit: int) -> None:
    state = State()
    for key in "abcde":
        put(state, key, b"1")
    put(state, "a", None)
    put(state, "c", b"2")
    state.compact(4)
    every = [entry.revision for entry in state.log(0, 0)]
    assert every == [1, 2, 3, 4, 5, 6, 7]
    wanted = [revision for revision in every if revision > after]
    assert [entry.revision for entry in state.log(after, limit)] == (wanted[:limit] if limit else wanted)


# The rules of a purge


def entry(revision: int, value: bytes | None = b"1", key: str = "a", purge: Purge | None = None) -> LogEntry:
    return LogEntry(revision, key, value, 0, 1, float(revision), ACTOR, None, purge)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection("a"), [0, 1, 3]),
        (Selection("a", since=2), [1, 3]),
        (Selection("a", since=3), [3]),
        (Selection("a", through=2), [0, 1]),
        (Selection("a", through=1), [0]),
        (Selection("a", through=0), []),
        (Selection("a", before=2.0), [0]),
        (Selection("a", before=1.9), []),
        (Selection("a", before=5.0), [0, 1, 3]),
        (Selection("a", since=2, through=3), [1]),
    ],
)
def test_a_purge_selects_past_values(selection: Selection, expected: list[int]) -> None:
    versions = [entry(1), entry(2), entry(3, None), entry(4), entry(5)]
    assert selected(selection, versions) == expected
    assert selected(selection, versions[:4], versions) == expected, "the value after a snapshot is in the store"
    assert selected(selection, versions[:4]) == [place for place in expected if place < 3]


def test_a_value_is_selected_by_the_time_at_which_it_was_replaced() -> None:
    selection = Selection("a", since=2, through=4, before=10.0)
    assert [is_selected(selection, revision, 10.0) for revision in (1, 2, 4, 5)] == [False, True, True, False]
    assert [is_selected(selection, 3, time) for time in (9.9, 10.0, 10.1)] == [True, True, False]


def test_the_last_purged_revision_of_a_log() -> None:
    assert last_purged([]) == 0
    assert last_purged([entry(1), entry(2)]) == 0
    assert last_purged([entry(1, None, purge=PURGE), entry(2, key="b"), entry(3), entry(4)]) == 3
    assert last_purged([entry(1, None, purge=PURGE), entry(2, key="b")]) == 1
    assert last_purged([entry(1, None, "b", PURGE), entry(2, None, purge=PURGE), entry(3, key="b")]) == 3


# Deadlines


def test_deadlines_are_due_in_their_order() -> None:
    deadlines = Deadlines({"c": 3.0, "a": 1.0})
    deadlines.set("b", 2.0)
    assert deadlines.next() == 1.0
    due = []
    for key in deadlines.due(2.0):
        due.append(key)
        deadlines.set(key, None)
    assert due == ["a", "b"]
    assert deadlines.next() == 3.0
    deadlines.set("c", 7.0)
    assert deadlines.next() == 7.0
    deadlines.set("c", None)
    deadlines.set("unknown", None)
    assert (deadlines.next(), dict(deadlines.times)) == (None, {})


def test_frozen_deadlines_never_change() -> None:
    deadlines = Deadlines({"a": 1.0})
    frozen = deadlines.freeze()
    deadlines.set("a", 5.0)
    deadlines.set("b", 2.0)
    assert frozen == {"a": 1.0}
    later = deadlines.times
    deadlines.set("c", 3.0)
    assert deadlines.times is later, "copied only once for each freeze"
    again = deadlines.freeze()
    deadlines.set("a", None)
    assert again == {"a": 5.0, "b": 2.0, "c": 3.0}


def test_replaced_deadlines_are_dropped_from_the_heap() -> None:
    deadlines = Deadlines()
    for time in range(3000):
        deadlines.set("a", float(time))
        assert len(deadlines._heap) <= 1002
    assert deadlines.next() == 2999.0
