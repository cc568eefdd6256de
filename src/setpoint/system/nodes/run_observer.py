"""Observers of pods: requests that wait for changes of a pod, such as followers of its logs."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import kind_of
from setpoint.objects.errors import TooManyRequests
from setpoint.objects.tree import Object
from setpoint.system.nodes.pod_memory import RunTimes
from setpoint.system.nodes.scripted_run import ScriptedRun
from setpoint.system.nodes.selected_run import present_run
from setpoint.system.nodes.simulated_nodes import SimulatedNodes
from setpoint.system.pods.state import POD

# The most requests that observe pods at a time: each has a timer.
MOST_OBSERVERS = 1_000
_RETRY_SECONDS = 10


class RunObserver:
    """An observer of one run of a container. `changed` is set after each change of its pod."""

    def __init__(self, nodes: SimulatedNodes, pod: Object, container: str, run: RunTimes) -> None:
        self._nodes = nodes
        self._pod: Object | None = pod
        self._container = container
        self._run = run
        self.changed = asyncio.Event()

    def update(self, pod: Object | None) -> None:
        """Takes the new state of the pod; None after its deletion."""
        self._pod = pod
        self.changed.set()

    def state(self) -> ScriptedRun | None:
        """Returns the run in its present state; None after the deletion of the pod."""
        if self._pod is None:
            return None
        self._run = present_run(self._pod, self._container, self._run)
        return self._nodes.run_of(self._pod, self._container, self._run)


class RunObservers:
    """The observers of the pods of all simulated nodes."""

    def __init__(self, nodes: SimulatedNodes, cache: Cache) -> None:
        self._nodes = nodes
        self._cache = cache
        self._kind = kind_of(POD)
        self._observers: dict[str, set[RunObserver]] = {}
        self._number = 0

    def check_room(self) -> None:
        """Raises TooManyRequests if there are too many observers."""
        if self._number >= MOST_OBSERVERS:
            text = f"the simulated nodes serve {MOST_OBSERVERS} streams already: end one of them first"
            raise TooManyRequests.of(text, retry_after_seconds=_RETRY_SECONDS)

    @contextmanager
    def observing(self, pod: Object, container: str, run: RunTimes) -> Iterator[RunObserver]:
        """Observes a run of a container of the pod."""
        uid = pod["metadata"]["uid"]
        observer = RunObserver(self._nodes, pod, container, run)
        self._observers.setdefault(uid, set()).add(observer)
        self._number += 1
        try:
            # The pod may have changed since it was read.
            newest = self._cache.entry(self._kind, pod["metadata"]["name"], pod["metadata"]["namespace"])
            if newest is not None and _version(newest.object) > _version(pod):
                observer.update(newest.object if newest.object["metadata"]["uid"] == uid else None)
            yield observer
        finally:
            self._number -= 1
            self._observers[uid].discard(observer)
            if not self._observers[uid]:
                del self._observers[uid]

    def update(self, uid: str, entry: CachedObject[Object] | None) -> None:
        """Passes the new state of a pod to its observers; None after its deletion."""
        for each in tuple(self._observers.get(uid, ())):
            each.update(None if entry is None else entry.object)


def _version(pod: Object) -> int:
    return int(pod["metadata"]["resourceVersion"])
