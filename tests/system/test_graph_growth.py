"""The garbage collector's graph takes linear time in the number of owners of one object."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from tests.turns import growth

from setpoint.system.ownership_graph import (
    FOREGROUND,
    STEP,
    Coordinates,
    ObservedObject,
    OwnerReference,
    OwnershipGraph,
    Steps,
)

from .steps import finished

pytestmark = pytest.mark.slow


def owned(size: int) -> ObservedObject:
    owners = tuple(OwnerReference("v1", "ConfigMap", f"o{number}", f"u{number}") for number in range(size))
    return ObservedObject("d", Coordinates("v1", "ConfigMap", "default", "d"), owners, found=list(range(0, size, 2)))


def test_an_object_that_names_many_owners_and_then_others() -> None:
    def prepare(size: int) -> Callable[[], object]:
        first, second = owned(size), owned(size)._replace(owners=owned(size).owners[::-1][1:], found=())
        graph = OwnershipGraph()

        def work() -> None:
            finished(graph.observe(first))
            finished(graph.observe(second))

        return work

    assert growth(prepare, 1000) < 9


def test_each_of_many_owners_asks_for_its_dependents() -> None:
    def prepare(size: int) -> Callable[[], object]:
        graph = OwnershipGraph()
        work = finished(graph.observe(owned(size)._replace(found=())))
        assert len(work) == size

        def ask() -> None:
            for each in work:
                assert each.owner_at is not None
                assert len(finished(graph.missed(each.uid, each.owner_at))) == 1

        return ask

    assert growth(prepare, 1000) < 9


def test_many_references_to_one_uid_are_each_looked_up_at_their_own_place() -> None:
    def prepare(size: int) -> Callable[[], object]:
        graph = OwnershipGraph()
        owners = tuple(OwnerReference("v1", "ConfigMap", f"o{number}", "same") for number in range(size))
        work = finished(graph.observe(ObservedObject("d", Coordinates("v1", "ConfigMap", "default", "d"), owners)))
        assert len(work) == size

        def ask() -> None:
            for each in work:
                assert each.owner_at is not None
                assert len(finished(graph.missed(each.uid, each.owner_at))) == 1

        return ask

    assert growth(prepare, 1000) < 9


def longest_step(steps: Steps[object]) -> int:
    """The most lines of the graph that run between two steps."""
    most = lines = 0

    def traced(frame: FrameType, event: str, _: object) -> object:
        nonlocal lines
        lines += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)  # type: ignore[arg-type]
    try:
        while True:
            lines = 0
            try:
                next(steps)
            except StopIteration:
                return max(most, lines)
            most = max(most, lines)
    finally:
        sys.settrace(before)


def test_no_step_grows_with_the_owners_of_an_object() -> None:
    graph = OwnershipGraph()
    first, second = owned(10_000), owned(10_000)._replace(owners=owned(10_000).owners[::-1][1:], found=())
    for steps in (graph.observe(first), graph.observe(second), graph.record_deletion("d")):
        assert longest_step(steps) < STEP * 30


def test_no_step_grows_with_the_dependents_of_an_owner() -> None:
    graph = OwnershipGraph()
    owner = OwnerReference("v1", "ConfigMap", "o", "o", blocks=True)
    place = Coordinates("v1", "ConfigMap", "default", "o")
    for number in range(10_000):
        uid = f"d{number}"
        finished(graph.observe(ObservedObject(uid, Coordinates("v1", "ConfigMap", "default", uid), (owner,))))
    finished(graph.observe(ObservedObject("o", place, finalizers=(FOREGROUND,))))
    node = graph.get("o")
    assert node is not None
    ending = ObservedObject("o", place, finalizers=(FOREGROUND,), is_being_deleted=True)
    for steps in (graph.observe(ending), node.blocking(), graph.missed("o", place), graph.record_deletion("o")):
        assert longest_step(steps) < STEP * 30


def test_steps_that_are_given_up_can_be_begun_anew() -> None:
    """An observation that is cancelled comes again: nothing that follows from it is lost."""
    for steps in range(0, 20, 3):
        graph, other = OwnershipGraph(), OwnershipGraph()
        begun = graph.observe(owned(5_000))
        for _ in range(steps):
            next(begun)
        begun.close()
        assert finished(graph.observe(owned(5_000))) == finished(other.observe(owned(5_000)))
        ended = graph.record_deletion("d")
        for _ in range(steps):
            next(ended)
        ended.close()
        assert finished(graph.record_deletion("d")) == finished(other.record_deletion("d"))
        assert len(graph) == len(other) == 0
