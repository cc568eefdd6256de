"""The checker itself: it must refuse what could not have happened."""

from math import inf

import pytest

from .linearizability import Operation, explain


def commit(start: float, end: float, value: str, expect: int | None, revision: int) -> Operation:
    return Operation("commit", "k", start, end, value, expect, "ok", None, revision)


def failed(start: float, end: float, value: str, expect: int, seen: str | None, revision: int) -> Operation:
    return Operation("commit", "k", start, end, value, expect, "failed", seen, revision)


def unknown(start: float, value: str, expect: int | None) -> Operation:
    return Operation("commit", "k", start, inf, value, expect, "unknown")


def get(start: float, end: float, seen: str | None, revision: int) -> Operation:
    return Operation("get", "k", start, end, seen=seen, revision=revision)


POSSIBLE = {
    "a read sees the write before it": [commit(0, 1, "a", 0, 1), get(2, 3, "a", 1)],
    "a read beside a write may see either": [commit(0, 5, "a", 0, 1), get(1, 2, None, 0), get(3, 4, "a", 1)],
    "of two who expect the same one fails": [
        commit(0, 1, "a", 0, 1),
        commit(2, 5, "b", 1, 2),
        failed(2, 5, "c", 1, "b", 2),
    ],
    "a write without an answer may have happened": [unknown(0, "a", 0), get(2, 3, "a", 1)],
    "a write without an answer may never have happened": [unknown(0, "a", 0), get(2, 3, None, 0)],
    "a write without an answer may happen late": [unknown(0, "a", 0), get(2, 3, None, 0), get(4, 5, "a", 9)],
}
IMPOSSIBLE = {
    "a read misses the write before it": [commit(0, 1, "a", 0, 1), get(2, 3, None, 0)],
    "two writes replaced the same revision": [
        commit(0, 1, "a", 0, 1),
        commit(2, 5, "b", 1, 2),
        commit(2, 5, "c", 1, 3),
    ],
    "a value is seen, then not, then again": [
        commit(0, 9, "a", 0, 1),
        get(1, 2, "a", 1),
        get(3, 4, None, 0),
        get(5, 6, "a", 1),
    ],
    "a write fails though what it expected was there": [commit(0, 1, "a", 0, 1), failed(2, 3, "b", 1, "a", 1)],
    "a lost update": [
        commit(0, 1, "a", 0, 1),
        commit(2, 3, "b", 1, 2),
        get(4, 5, "a", 1),
    ],
    "revisions go back": [commit(0, 1, "a", None, 5), commit(2, 3, "b", None, 4)],
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_what_could_have_happened_is_accepted(name: str) -> None:
    assert explain(POSSIBLE[name]) is None


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_could_not_have_happened_is_refused(name: str) -> None:
    assert explain(IMPOSSIBLE[name]) is not None


def test_each_key_is_judged_alone() -> None:
    other = [operation._replace(key="other") for operation in IMPOSSIBLE["a lost update"]]
    assert explain([*POSSIBLE["a read sees the write before it"], *other]) is not None
