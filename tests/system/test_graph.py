"""The graph of owners as plain computing: what it knows, and what it asks to be looked at."""

from hypothesis import given
from hypothesis import strategies as st

from setpoint.system.ownership_graph import (
    FOREGROUND,
    ORPHAN,
    Coordinates,
    ObservedObject,
    OwnerReference,
    OwnershipGraph,
    Work,
)

from .steps import finished


def seen(uid: str, *owners: str, blocks: bool = True, deleting: str = "", namespace: str = "default") -> ObservedObject:
    """An object that is called as its uid is, and names its owners as they are called."""
    return ObservedObject(
        uid,
        Coordinates("v1", "ConfigMap", namespace, uid),
        tuple(OwnerReference("v1", "ConfigMap", owner, owner, blocks) for owner in owners),
        (deleting,) if deleting else (),
        bool(deleting),
    )


def at(uid: str, namespace: str = "default") -> Coordinates:
    return Coordinates("v1", "ConfigMap", namespace, uid)


def test_an_object_without_owners_costs_nothing() -> None:
    graph = OwnershipGraph()
    assert finished(graph.observe(seen("a"))) == []
    assert len(graph) == 0


def test_an_owner_that_nobody_has_seen_is_looked_for_once() -> None:
    graph = OwnershipGraph()
    assert finished(graph.observe(seen("d1", "o"))) == [Work("o", at("o"))]
    graph.found("o", at("o"))
    assert finished(graph.observe(seen("d2", "o"))) == []


def test_an_owner_that_was_found_with_its_dependent_is_not_looked_for_until_it_goes() -> None:
    graph = OwnershipGraph()
    assert finished(graph.observe(seen("d", "o", "p")._replace(found=[1]))) == [Work("o", at("o"))]
    assert finished(graph.record_deletion("p")) == [Work("d")]
    # Old news: what is gone stays gone.
    assert finished(graph.observe(seen("e", "p")._replace(found=[0]))) == [Work("e")]


def test_an_owner_that_goes_has_its_dependents_looked_at() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d1", "o")))
    finished(graph.observe(seen("d2", "o")))
    assert set(finished(graph.record_deletion("o"))) == {Work("d1"), Work("d2")}
    assert graph.is_absent("o", at("o"))


def test_old_news_of_an_owner_does_not_bring_it_back() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d1", "o")))
    finished(graph.record_deletion("o"))
    graph.found("o", at("o"))
    assert finished(graph.observe(seen("d2", "o"))) == [Work("d2")]


def test_an_owner_is_looked_for_wherever_somebody_says_that_it_is() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d", "o")))
    graph.found("o", at("o"))
    assert finished(graph.observe(seen("e", "o", namespace="other"))) == [Work("o", at("o", "other"))]
    assert finished(graph.missed("o", at("o", "other"))) == [Work("e")]
    assert not graph.is_absent("o", at("o"))


def test_an_owner_deleted_in_the_foreground_waits_for_those_that_block_it() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d", "o")))
    finished(graph.observe(seen("e", "o", blocks=False)))
    assert set(finished(graph.observe(seen("o", deleting=FOREGROUND)))) == {Work("d"), Work("e"), Work("o")}
    owner = graph.get("o")
    assert owner is not None
    assert [node.uid for node in finished(owner.blocking())] == ["d"]
    assert finished(graph.record_deletion("d")) == [Work("o")]
    assert finished(owner.blocking()) == []


def test_nothing_waits_for_itself() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("o", "o", deleting=FOREGROUND)))
    owner = graph.get("o")
    assert owner is not None
    assert finished(owner.blocking()) == []


def test_a_reference_that_blocks_no_more_lets_the_owner_go() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d", "o")))
    finished(graph.observe(seen("o", deleting=FOREGROUND)))
    assert Work("o") in finished(graph.observe(seen("d", "o", blocks=False)))


def test_an_object_that_gets_an_owner_which_waits_is_looked_at() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("o", deleting=FOREGROUND)))
    assert Work("d") in finished(graph.observe(seen("d", "o")))


def test_an_owner_that_orphans_is_looked_at_once() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d", "o")))
    assert finished(graph.observe(seen("o", deleting=ORPHAN))) == [Work("o")]
    assert finished(graph.observe(seen("o", deleting=ORPHAN))) == []


def test_what_nobody_refers_to_any_more_is_forgotten() -> None:
    graph = OwnershipGraph()
    finished(graph.observe(seen("d", "o")))
    finished(graph.observe(seen("d")))
    assert len(graph) == 0
    finished(graph.observe(seen("d", "o")))
    finished(graph.record_deletion("d"))
    assert len(graph) == 0


UIDS = st.sampled_from("abcdef")
SEEN = st.builds(
    lambda uid, owners, blocks, deleting: seen(uid, *sorted(owners), blocks=blocks, deleting=deleting),
    UIDS,
    st.sets(UIDS, max_size=3),
    st.booleans(),
    st.sampled_from(("", FOREGROUND, ORPHAN)),
)
HISTORY = st.lists(SEEN | UIDS, max_size=30)


def told(history: list[ObservedObject | str]) -> tuple[OwnershipGraph, dict[str, ObservedObject], list[Work]]:
    """A graph that was told a history (a uid means that the object went), what is there at its end, and all work."""
    graph, there, work = OwnershipGraph(), dict[str, ObservedObject](), list[Work]()
    for event in history:
        if isinstance(event, ObservedObject):
            there[event.uid] = event
            work += finished(graph.observe(event))
        else:
            there.pop(event, None)
            work += finished(graph.record_deletion(event))
    return graph, there, work


def shape(graph: OwnershipGraph) -> dict[str, tuple[ObservedObject | None, frozenset[str]]]:
    nodes = {uid: graph.get(uid) for uid in "abcdef"}
    return {
        uid: (node.seen if node.seen is not None and _matters(node.seen) else None, frozenset(node.dependents))
        for uid, node in nodes.items()
        if node is not None
    }


@given(HISTORY)
def test_the_graph_after_a_history_is_that_of_what_is_there(history: list[ObservedObject | str]) -> None:
    graph, there, _ = told(history)
    anew, _, _ = told(list(there.values()))
    assert shape(graph) == shape(anew)
    assert len(graph) == len(shape(graph))


def _matters(each: ObservedObject) -> bool:
    return bool(each.owners) or each.orphans or each.waits_for_dependents


@given(HISTORY)
def test_no_reference_goes_unlooked_at(history: list[ObservedObject | str]) -> None:
    """Each reference of what is there was found right, or led to work: for the object, or for its owner."""
    graph, there, work = told(history)
    for each in there.values():
        for reference in each.owners:
            place = reference.seen_from("default")
            owner = graph.get(reference.uid)
            assert owner is not None
            assert place in owner.found_at or Work(each.uid) in work or Work(reference.uid, place) in work


@given(HISTORY)
def test_what_waits_is_looked_at_when_the_last_that_blocks_it_goes(
    history: list[ObservedObject | str],
) -> None:
    graph, there, _ = told(history)
    for each in list(there.values()):
        node = graph.get(each.uid)
        if node is None or not node.waits_for_dependents:
            continue
        blocking = finished(node.blocking())
        for at_last, dependent in enumerate(blocking, 1):
            work = finished(graph.record_deletion(dependent.uid))
            if at_last == len(blocking):
                assert Work(each.uid) in work
        break
