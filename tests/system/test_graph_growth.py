"""The garbage collector's graph takes linear time in the number of owners of one object."""

from collections.abc import Callable

from tests.turns import growth

from setpoint.system.graph import Coordinates, Graph, Reference, Seen


def owned(size: int) -> Seen:
    owners = tuple(Reference("v1", "ConfigMap", f"o{number}", f"u{number}") for number in range(size))
    return Seen("d", Coordinates("v1", "ConfigMap", "default", "d"), owners, found=list(range(0, size, 2)))


def test_an_object_that_names_many_owners_and_then_others() -> None:
    def prepare(size: int) -> Callable[[], object]:
        first, second = owned(size), owned(size)._replace(owners=owned(size).owners[::-1][1:], found=())
        graph = Graph()

        def work() -> None:
            graph.observe(first)
            graph.observe(second)

        return work

    assert growth(prepare, 1000) < 9


def test_each_of_many_owners_asks_for_its_dependents() -> None:
    def prepare(size: int) -> Callable[[], object]:
        graph = Graph()
        work = graph.observe(owned(size)._replace(found=()))
        assert len(work) == size

        def ask() -> None:
            for each in work:
                assert each.owner_at is not None
                assert len(graph.missed(each.uid, each.owner_at)) == 1

        return ask

    assert growth(prepare, 1000) < 9


def test_many_references_to_one_uid_are_each_looked_up_at_their_own_place() -> None:
    def prepare(size: int) -> Callable[[], object]:
        graph = Graph()
        owners = tuple(Reference("v1", "ConfigMap", f"o{number}", "same") for number in range(size))
        work = graph.observe(Seen("d", Coordinates("v1", "ConfigMap", "default", "d"), owners))
        assert len(work) == size

        def ask() -> None:
            for each in work:
                assert each.owner_at is not None
                assert len(graph.missed(each.uid, each.owner_at)) == 1

        return ask

    assert growth(prepare, 1000) < 9
