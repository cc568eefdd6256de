"""The pending work of one object: the times of handlers, and the entries that keep the object known."""

from math import inf
from typing import Any

import pytest
from tests.flow.chain.worlds import maps

from setpoint.cache.entry import CachedObject
from setpoint.controller.read_tracker import Lookup
from setpoint.flow.chain import Gone, HandlerContext
from setpoint.flow.chain.todo import AnyHandler, DeletedObject, Due, Todo
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.tree import Object

LOOKUP = Lookup("", GroupVersionKind("", "v1", "ConfigMap"), "default/a")
ENTRY: Any = CachedObject.__new__(CachedObject)


def handlers() -> tuple[AnyHandler, AnyHandler, AnyHandler]:
    """Two handlers of changes, and one of deletions."""
    chain = maps()

    @chain.on_change("first")
    async def first(ctx: HandlerContext, obj: Object) -> None: ...

    @chain.on_change("second")
    async def second(ctx: HandlerContext, obj: Object) -> None: ...

    @chain.on_delete("gone")
    async def gone(ctx: HandlerContext, found: Gone[Object]) -> None: ...

    return first, second, gone


FIRST, SECOND, GONE = handlers()


def test_of_several_times_the_earliest_counts() -> None:
    todo = Todo()
    todo.put(FIRST, 5.0, followed=False)
    todo.put(FIRST, 7.0)
    assert todo.due == {FIRST: Due(5.0, followed=True)}
    todo.put(FIRST, 3.0, followed=False)
    assert todo.due == {FIRST: Due(3.0, followed=True)}, "handlers after it are still called"
    todo.put(SECOND, 1.0, followed=False)
    assert todo.due[SECOND] == Due(1.0, followed=False)


def test_a_handler_is_due_from_its_time_on() -> None:
    todo = Todo()
    todo.put(FIRST, 0.1 + 0.2)
    assert not todo.is_due(FIRST, 0.29)
    assert todo.is_due(FIRST, 0.3), "the sum is greater by a rounding error"
    assert todo.is_due(FIRST, 0.4)
    assert not todo.is_due(SECOND, 0.4)


def test_a_call_of_all_handlers_is_requested_once() -> None:
    todo = Todo(wanted=5.0)
    assert not todo.consume_wanted(4.9)
    assert todo.consume_wanted(5.0)
    assert not todo.consume_wanted(5.0)


@pytest.mark.parametrize(
    ("todo", "seconds"),
    [
        (Todo(), None),
        (Todo(due={FIRST: Due(10.5), SECOND: Due(12.0)}), 0.5),
        (Todo(due={FIRST: Due(9.0)}), 0.0),
        (Todo(due={FIRST: Due(inf)}), None),
        (Todo(wanted=13.0), 3.0),
        (Todo(due={FIRST: Due(12.0)}, wanted=11.0), 1.0),
        (Todo(due={FIRST: Due(9.0)}, not_before=14.0), 4.0),
        (Todo(due={FIRST: Due(9.0)}, not_before=14.0, wanted=12.0), 2.0),
        (Todo(not_before=14.0), None),
    ],
)
def test_the_next_call_is_the_first_of_all_times(todo: Todo, seconds: float | None) -> None:
    assert todo.wait(10.0) == seconds


def test_times_are_relative_to_a_clock_that_starts_at_zero() -> None:
    assert Todo(due={FIRST: Due(0.25)}).wait(0.0) == 0.25


@pytest.mark.parametrize(
    ("todo", "is_empty"),
    [
        (Todo(), True),
        (Todo(not_before=5.0), True),
        (Todo(due={FIRST: Due(1.0)}), False),
        (Todo(failed={FIRST}), False),
        (Todo(deleted=[DeletedObject(ENTRY, False, {GONE})]), False),
        (Todo(lookups={FIRST: frozenset({LOOKUP})}), False),
        (Todo(unrecorded={FIRST: 2}), False),
        (Todo(wanted=5.0), False),
    ],
)
def test_an_object_without_pending_work_needs_no_entry(todo: Todo, is_empty: bool) -> None:
    assert todo.is_empty is is_empty


def test_a_handler_is_finished_when_it_neither_waits_nor_failed() -> None:
    todo = Todo(due={FIRST: Due(1.0)}, failed={SECOND})
    assert [todo.is_finished(each) for each in (FIRST, SECOND, GONE)] == [False, False, True]


def test_nothing_is_left_of_a_removed_handler() -> None:
    todo = Todo(
        due={GONE: Due(1.0), FIRST: Due(2.0)},
        failed={GONE, FIRST},
        deleted=[DeletedObject(ENTRY, False, {GONE}), DeletedObject(ENTRY, True, {GONE, SECOND})],
        lookups={GONE: frozenset({LOOKUP}), FIRST: frozenset({LOOKUP})},
        unrecorded={GONE: 1, FIRST: 2},
    )
    todo.drop(GONE)
    assert todo.due == {FIRST: Due(2.0)}
    assert todo.failed == {FIRST}
    assert todo.deleted == [DeletedObject(ENTRY, True, {SECOND})], "a deletion without handlers is reported"
    assert (set(todo.lookups), todo.unrecorded) == ({FIRST}, {FIRST: 2})
    todo.drop(GONE)
    assert todo.due == {FIRST: Due(2.0)}


def test_handlers_of_deletions_are_called_again_only_for_deletions_to_report() -> None:
    todo = Todo()
    todo.schedule([FIRST, GONE], 3.0)
    assert todo.due == {FIRST: Due(3.0)}
    todo.deleted.append(DeletedObject(ENTRY, False, {GONE}))
    todo.schedule([GONE], 4.0)
    assert todo.due == {FIRST: Due(3.0), GONE: Due(4.0)}
