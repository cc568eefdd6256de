"""A controller for each matching kind, as kinds appear and disappear.

    def counted(kind: GroupVersionKind) -> Chain[Object]:
        chain = Chain(kind, name=f"count-{kind.kind.lower()}")
        ...
        return chain

    manager.add(EachKind(manager, counted, match=lambda kind: kind.group.endswith("example.com")))

The controller reads the served kinds whenever a CustomResourceDefinition or an APIService changes, and retries failures
with backoff. A kind of an unresponsive server keeps its controller, because the kind may still exist. After the removal
of a kind, its last objects are reported as deleted before its controller stops.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

from setpoint.cache.entry import CachedObject
from setpoint.cache.index import IndexFunction
from setpoint.cache.informer import Informer
from setpoint.controller.context import Context
from setpoint.controller.controller import GRACEFUL_SECONDS, Controller
from setpoint.controller.declare import controller_of
from setpoint.controller.manager import Manager
from setpoint.controller.options import Settings
from setpoint.controller.request import Request, Result, Trigger
from setpoint.controller.watch import Watch
from setpoint.flow.chain.served_kinds import Served, served
from setpoint.objects.clock import timeout
from setpoint.objects.gvk import GroupKind, GroupVersionKind

CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"
API_SERVICE = "apiregistration.k8s.io/v1/APIService"
# The seconds for which changes of definitions are collected: they often come together.
DEBOUNCE_SECONDS = 0.5
# The seconds that a controller of a removed kind has to process the last deletions.
FINAL_SECONDS = 30.0
# The interval at which an unresponsive API version is asked again.
UNKNOWN_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_ALL = Request("all")

_log = logging.getLogger(__name__)


def _all(entry: CachedObject[Any]) -> tuple[Request]:
    return (_ALL,)


class EachKind(Controller):
    """Runs a controller for each matching kind in a manager.

    `make` returns the controller or declaration for a kind; None if the kind needs none. Kinds are passed in the
    server's preferred version. `indexes` are maintained over the objects of all these kinds.

        manager.add(EachKind(manager, counted, match=lambda kind: kind.group.endswith("example.com")))
    """

    def __init__(
        self,
        manager: Manager,
        make: Callable[[GroupVersionKind], object],
        *,
        match: Callable[[GroupVersionKind], bool] = lambda kind: True,
        indexes: Mapping[str, IndexFunction[Any]] | None = None,
        name: str = "each-kind",
        **settings: Unpack[Settings],
    ) -> None:
        self._manager = manager
        self._make = make
        self._match = match
        self._indexes = dict(indexes or {})
        self._running: dict[GroupKind, _Running] = {}
        settings.setdefault("debounce", DEBOUNCE_SECONDS)
        settings["watches"] = [
            *settings.get("watches", ()),
            Watch(CRD, _all, optional=True),
            Watch(API_SERVICE, _all, optional=True),
        ]
        super().__init__(name, self._refresh, **settings)

    @property
    def kinds(self) -> list[GroupVersionKind]:
        """The kinds that have a controller now."""
        return [running.kind for running in self._running.values()]

    def controller_of(self, kind: GroupKind) -> Controller | None:
        """Returns the controller of a kind; None if there is none now."""
        running = self._running.get(kind)
        return None if running is None else running.controller

    def refresh(self) -> None:
        """Reads the served kinds again soon."""
        self.queue.add(_ALL, Trigger("requested"))

    # Indexes over all kinds

    def add_index(self, name: str, values_of: IndexFunction[Any]) -> None:
        """Adds an index over the objects of all current and future kinds. Raises IndexExists."""
        for running in self._running.values():
            self._index(running, name, values_of)
        self._indexes[name] = values_of

    def by_index(self, name: str, value: Any) -> Iterator[Any]:
        """Yields the objects of all kinds with a value in an index. Raises KeyError for an unknown index."""
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"no index {name!r} over all kinds; known indexes: {known}")
        for running in self._running.values():
            if running.informer is not None:
                yield from (entry.object for entry in running.informer.store.by_index(name, value))

    def _index(self, running: "_Running", name: str, values_of: IndexFunction[Any]) -> None:
        if running.informer is None:
            running.informer = self.cache().acquire(running.kind)
        running.informer.add_index(name, values_of)

    # Following

    def work(self) -> None:
        super().work()
        self.refresh()  # there may be no definition to trigger this

    async def stop(self, graceful: float | None = GRACEFUL_SECONDS) -> None:
        try:
            await super().stop(graceful)
        finally:
            if self not in self._manager.controllers:  # removed from the manager: stop the controllers of all kinds
                for running in list(self._running.values()):
                    await self._end(running)

    async def _refresh(self, ctx: Context, request: Request) -> Result | None:
        """Starts and stops controllers. A failure for one kind does not affect the others."""
        now = await served(ctx.api)
        failures: list[Exception] = []
        for running in list(self._running.values()):
            if self._is_removed(running, now):
                try:
                    _log.info("%s: %s is no longer served", self.name, running.kind)
                    self._evict_from_caches(running.kind)
                    await self._deliver(running)
                    await self._end(running)
                except Exception as error:
                    failures.append(error)
        for group_kind, resource in now.resources.items():
            if group_kind not in self._running:
                try:
                    self._begin(group_kind, resource.gvk)
                except Exception as error:
                    error.add_note(f"while starting the controller of {resource.gvk}")
                    failures.append(error)
        if failures:
            raise failures[0] if len(failures) == 1 else ExceptionGroup("controllers of several kinds failed", failures)
        return Result(requeue_after=UNKNOWN_SECONDS) if now.unknown else None

    def _is_removed(self, running: "_Running", now: Served) -> bool:
        kind = running.kind
        found = now.resources.get(kind.group_kind)
        return (found is None or found.gvk != kind) and kind.group_version not in now.unknown

    def _begin(self, group_kind: GroupKind, kind: GroupVersionKind) -> None:
        if not self._match(kind):
            return
        made = self._make(kind)
        if made is None:
            return
        controller = controller_of(made, ids=self._manager.ids)
        # A kind that cannot be read must not end the whole manager.
        controller.options = replace(controller.options, sync_timeout=None)
        self._manager.add(controller)
        running = self._running[group_kind] = _Running(kind, controller)
        for name, values_of in self._indexes.items():
            self._index(running, name, values_of)
        _log.info("%s: started the controller of %s: %s", self.name, kind, controller.name)

    def _evict_from_caches(self, kind: GroupVersionKind) -> None:
        """Removes the objects of a removed kind from the caches, which reports them as deleted."""
        self.client().mapper.evict(kind)
        for informer in self.cache().informers:
            if informer.kind.gvk == kind:
                for part in informer.scope.namespaces:
                    informer.replace((), part, initial=False)

    async def _deliver(self, running: "_Running") -> None:
        """Waits until a controller has processed its queue."""
        queue = running.controller.queue
        try:
            async with timeout(self.clock, FINAL_SECONDS):
                while running.controller.working and (len(queue) or queue.delayed or queue.working()):
                    await self.clock.sleep(_LOOK_SECONDS)
        except TimeoutError:
            left = len(queue) + queue.delayed + len(queue.working())
            _log.warning("%s stops with %d unfinished requests", running.controller.name, left)

    async def _end(self, running: "_Running") -> None:
        del self._running[running.kind.group_kind]
        if running.informer is not None:
            await self.cache().release(running.informer)
        if running.controller in self._manager.controllers:
            await self._manager.remove(running.controller)


class _Running:
    """A kind with a controller."""

    def __init__(self, kind: GroupVersionKind, controller: Controller) -> None:
        self.kind = kind
        self.controller = controller
        # Acquired if there are indexes.
        self.informer: Informer[Any] | None = None
