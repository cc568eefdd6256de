"""Recent revisions: their number and bytes are bounded, and unused ones are forgotten."""

from collections.abc import Sequence

import pytest

from setpoint.objects.provenance import Actor
from setpoint.store.cached import past
from setpoint.store.cached.past import Pasts
from setpoint.store.contract import Event, Item, LogEntry
from setpoint.store.follow import first_after

MAPS = "/core/configmaps/"
ACTOR = Actor("tester")


class Log:
    """A log in which each revision replaces the value of one key; `kept_from` is the start of the part in memory."""

    def __init__(self, revisions: int, size: int = 1, keys: int = 10) -> None:
        self._events: list[Event] = []
        self._size, self._keys = size, keys
        self.kept_from = self.steps = 0
        self.append(revisions)

    def append(self, number: int) -> None:
        for revision in range(self.current + 1, self.current + number + 1):
            entry = LogEntry(revision, f"{MAPS}{revision % self._keys}", b"new", revision - 1, 1, 0.0, ACTOR, None)
            self._events.append(Event(entry, b"%d" % (revision - 1) + b" " * self._size))

    @property
    def current(self) -> int:
        return len(self._events)

    def recent(self, after: int) -> Sequence[Event] | None:
        self.steps += 1
        return None if after < self.kept_from else self._events[first_after(self._events, after) :][:7]


def value(log: Log, pasts: Pasts, key: str, revision: int) -> bytes | None:
    found = pasts.at(log, MAPS, revision)
    assert found is not None
    item = found.item(MAPS + key, Item(MAPS + key, b"current", log.current, 1))
    return item.value if item is not None else None


def test_first_event_after_a_revision_has_the_value_of_then() -> None:
    log, pasts = Log(25), Pasts()
    assert value(log, pasts, "3", 12) == b"12 "
    assert value(log, pasts, "3", 22) == b"22 "
    assert value(log, pasts, "3", 24) == b"current"
    log.append(9)
    assert value(log, pasts, "3", 24) == b"32 "
    assert value(log, pasts, "3", 12) == b"12 "


def test_number_of_kept_revisions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_KEPT", 3)
    log, pasts = Log(30), Pasts()
    for revision in range(10, 20):
        value(log, pasts, "3", revision)
    assert [revision for _, revision in pasts._kept] == [17, 18, 19]


def test_bytes_of_kept_revisions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_KEPT_BYTES", 2500)
    log, pasts = Log(30, size=100), Pasts()
    for revision in range(10, 20):
        value(log, pasts, "3", revision)
    assert [revision for _, revision in pasts._kept] == [18, 19]


def test_unused_revisions_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_IDLE", 10)
    log, pasts = Log(30), Pasts()
    value(log, pasts, "3", 10)
    value(log, pasts, "3", 20)
    pasts.published(10)
    value(log, pasts, "3", 20)
    pasts.published(9)
    assert [revision for _, revision in pasts._kept] == [10, 20]
    pasts.published(1)
    assert [revision for _, revision in pasts._kept] == [20]


def test_revision_with_too_many_changes_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_UNDONE", 20)
    log, pasts = Log(30), Pasts()
    assert pasts.at(log, MAPS, 5) is None
    log.steps = 0
    assert pasts.at(log, MAPS, 5) is None
    assert log.steps == 0
    assert value(log, pasts, "3", 12) == b"12 "


def test_revision_whose_events_left_memory_is_not_read() -> None:
    log, pasts = Log(30), Pasts()
    assert value(log, pasts, "3", 12) == b"12 "
    log.kept_from = 15
    assert pasts.at(log, MAPS, 12) is None
    assert value(log, pasts, "3", 22) == b"22 "


def test_purged_value_is_not_read() -> None:
    log, pasts = Log(30), Pasts()
    log._events[20] = log._events[20]._replace(previous_value=None)
    assert pasts.at(log, MAPS, 15) is None
    assert value(log, pasts, "3", 22) == b"22 "
