"""The numbers of assigned pods on each node by selectors, kept up to date by every assignment.

Pods with the same namespace and labels are one group, because the pods of a workload mostly are. A count that was asked
for once follows all later changes, so that a scheduling cycle reads one number for each node with matching pods, and
never examines all pods.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple

from setpoint.objects.labels import Labels, Selector

# The most counts that are kept; the one that was not used for the longest time is dropped.
MOST_COUNTS = 256
# The number of groups after which other tasks run.
_YIELDS_AFTER = 256

Pause = Callable[[], Awaitable[None]]


class PodQuery(NamedTuple):
    """The counted pods: their labels, their namespaces (None for all), and True if pods that are being deleted
    count."""

    selector: Selector
    namespaces: frozenset[str] | None
    counts_terminating: bool = True

    def matches(self, namespace: str, labels: Labels, is_terminating: bool) -> bool:
        """Returns True if a pod counts."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return (self.counts_terminating or not is_terminating) and self.selector.matches(labels)


class _Group:
    """The pods with the same namespace, labels and deletion state."""

    __slots__ = ("counts", "is_terminating", "labels", "namespace", "nodes")

    def __init__(self, namespace: str, labels: Labels, is_terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.is_terminating = is_terminating
        # The number of pods by node.
        self.nodes: dict[str, int] = {}
        # The counts that include this group.
        self.counts: list[_Count] = []

    def is_in(self, query: PodQuery) -> bool:
        return query.matches(self.namespace, self.labels, self.is_terminating)


class _Count:
    """The number of matching pods by node."""

    __slots__ = ("is_dropped", "nodes", "query")

    def __init__(self, query: PodQuery) -> None:
        self.query = query
        self.nodes: dict[str, int] = {}
        self.is_dropped = False


_Key = tuple[frozenset[tuple[str, str]], bool]


class PodCounts:
    """All assigned pods, counted by their labels. `pause` lets other tasks run."""

    def __init__(self, pause: Pause) -> None:
        self._pause = pause
        self._groups: dict[str, dict[_Key, _Group]] = {}
        self._counts: OrderedDict[PodQuery, _Count] = OrderedDict()

    def add(self, namespace: str, labels: Labels, is_terminating: bool, node: str, number: int) -> None:
        """Counts a pod on a node (1), or stops counting the pod (-1)."""
        groups = self._groups.setdefault(namespace, {})
        key = frozenset(labels.items()), is_terminating
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(namespace, labels, is_terminating)
            group.counts = [count for query, count in self._counts.items() if group.is_in(query)]
        _add(group.nodes, node, number)
        for count in group.counts:
            _add(count.nodes, node, number)
        if not group.nodes:
            del groups[key]
            if not groups:
                del self._groups[namespace]

    async def by_node(self, query: PodQuery) -> Mapping[str, int]:
        """Returns the number of matching pods for each node that has some. The result follows later changes."""
        count = self._counts.get(query)
        if count is not None:
            self._counts.move_to_end(query)
            return count.nodes
        count = self._counts[query] = _Count(query)
        if len(self._counts) > MOST_COUNTS:
            self._counts.popitem(last=False)[1].is_dropped = True
        for number, group in enumerate(list(self._groups_of(query)), 1):
            # A group of the list may have ended meanwhile; a new one has the count from the beginning.
            if group.nodes and group.is_in(query) and count not in group.counts:
                group.counts = [each for each in group.counts if not each.is_dropped]
                group.counts.append(count)
                for node, pods in group.nodes.items():
                    _add(count.nodes, node, pods)
            if number % _YIELDS_AFTER == 0:
                await self._pause()
        return count.nodes

    def _groups_of(self, query: PodQuery) -> Iterator[_Group]:
        spaces = self._groups.keys() if query.namespaces is None else query.namespaces
        for namespace in spaces:
            yield from self._groups.get(namespace, {}).values()


def _add(numbers: dict[str, int], key: str, number: int) -> None:
    found = numbers.get(key, 0) + number
    if found:
        numbers[key] = found
    else:
        del numbers[key]
