"""Counts of pods by selectors: they follow all changes, and reading one examines no pods."""

from collections.abc import Callable

from setpoint.objects.labels import parse
from setpoint.system.scheduler import pod_counts
from setpoint.system.scheduler.pod_counts import PodCounts, PodQuery


class Pauses:
    """Counts the pauses; runs a function in each."""

    def __init__(self) -> None:
        self.number = 0
        self.action: Callable[[], None] = lambda: None

    async def __call__(self) -> None:
        self.number += 1
        self.action()


WEB = PodQuery(parse("app=web"), frozenset(("a",)))


async def test_a_count_follows_changes() -> None:
    counts = PodCounts(Pauses())
    counts.add("a", {"app": "web"}, False, "n1", 1)
    found = await counts.by_node(WEB)
    assert found == {"n1": 1}
    counts.add("a", {"app": "web", "tier": "x"}, False, "n2", 1)
    counts.add("a", {"app": "web"}, True, "n1", 1)
    counts.add("a", {"app": "db"}, False, "n1", 1)
    counts.add("b", {"app": "web"}, False, "n1", 1)
    assert found == {"n1": 2, "n2": 1}
    assert await counts.by_node(WEB._replace(namespaces=None)) == {"n1": 3, "n2": 1}
    assert await counts.by_node(WEB._replace(counts_terminating=False)) == {"n1": 1, "n2": 1}
    counts.add("a", {"app": "web"}, False, "n1", -1)
    counts.add("a", {"app": "web"}, True, "n1", -1)
    assert found == {"n2": 1}


async def test_a_new_count_examines_groups_in_turns_and_sees_changes_meanwhile() -> None:
    pauses = Pauses()
    counts = PodCounts(pauses)
    for number in range(600):
        counts.add("a", {"app": "web", "pod": str(number)}, False, "n1", 1)

    def change() -> None:
        if pauses.number == 1:
            counts.add("a", {"app": "web", "pod": "599"}, False, "n1", -1)
            counts.add("a", {"app": "web", "pod": "new"}, False, "n2", 1)
            counts.add("a", {"app": "web", "pod": "0"}, False, "n2", 1)

    pauses.action = change
    assert await counts.by_node(WEB) == {"n1": 599, "n2": 2}
    assert pauses.number == 2
    await counts.by_node(WEB)
    assert pauses.number == 2


async def test_the_number_of_counts_is_bounded() -> None:
    counts = PodCounts(Pauses())
    counts.add("a", {"app": "web"}, False, "n1", 1)
    first = await counts.by_node(WEB)
    for number in range(pod_counts.MOST_COUNTS):
        await counts.by_node(PodQuery(parse(f"app=web,x!={number}"), None))
    counts.add("a", {"app": "web"}, False, "n1", 1)
    assert await counts.by_node(WEB) == {"n1": 2}
    assert first is not await counts.by_node(WEB)
