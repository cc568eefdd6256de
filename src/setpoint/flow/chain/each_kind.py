"""A controller for each kind that matches, as kinds appear and disappear.

    def counted(kind: GroupVersionKind) -> Chain[Object]:
        chain = Chain(kind, name=f"count-{kind.kind.lower()}")
        ...
        return chain

    manager.add(EachKind(manager, counted, match=lambda kind: kind.group.endswith("example.com")))

It looks whenever a definition or an APIService changes, and again, ever more slowly, while that fails. A kind whose
server does not answer is left as it is: nobody knows that it is gone. One that is gone has its last objects told as
deleted before its controller ends.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Unpack

from setpoint.cache.entry import Held
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
# For so long what happens to definitions is gathered: they rarely come alone.
DEBOUNCE_SECONDS = 0.5
# How long a controller whose kind is gone may take to hear of the last deletions.
FINAL_SECONDS = 30.0
# How often a version is asked for whose server did not answer.
UNKNOWN_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_ALL = Request("all")

_log = logging.getLogger(__name__)


def _all(held: Held[Any]) -> tuple[Request]:
    return (_ALL,)


class EachKind(Controller):
    """Has a manager run a controller for each kind that matches.

    `make` gives the controller for a kind, or what is declared as one; None where the kind needs none. Kinds come in
    the version that the server prefers. `indexes` are kept over the objects of all of them.
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
        """The kinds that it follows now."""
        return [running.kind for running in self._running.values()]

    def controller_of(self, kind: GroupKind) -> Controller | None:
        """The controller of a kind; None where it has none now."""
        running = self._running.get(kind)
        return None if running is None else running.controller

    def refresh(self) -> None:
        """Looks which kinds there are, soon."""
        self.queue.add(_ALL, Trigger("requested"))

    # Indexes over all kinds

    def add_index(self, name: str, values_of: IndexFunction[Any]) -> None:
        """Keeps an index over the objects of all kinds, those there are and those that come. Raises IndexExists."""
        for running in self._running.values():
            self._index(running, name, values_of)
        self._indexes[name] = values_of

    def by_index(self, name: str, value: Any) -> Iterator[Any]:
        """The objects of all kinds that have a value in an index. Raises KeyError where there is no such index."""
        if name not in self._indexes:
            known = ", ".join(sorted(self._indexes)) or "none"
            raise KeyError(f"there is no index {name!r} over all kinds; there are: {known}")
        for running in self._running.values():
            if running.informer is not None:
                yield from (held.object for held in running.informer.store.by_index(name, value))

    def _index(self, running: "_Running", name: str, values_of: IndexFunction[Any]) -> None:
        if running.informer is None:
            running.informer = self.cache().acquire(running.kind)
        running.informer.add_index(name, values_of)

    # Following

    def work(self) -> None:
        super().work()
        self.refresh()  # there may be no definition at all to tell of

    async def stop(self, graceful: float | None = GRACEFUL_SECONDS) -> None:
        await super().stop(graceful)
        if self not in self._manager.controllers:  # it was removed, and what it follows goes with it
            for running in list(self._running.values()):
                await self._end(running)

    async def _refresh(self, ctx: Context, request: Request) -> Result | None:
        """Begins and ends controllers. What fails for one kind keeps no other from its own."""
        now = await served(ctx.api)
        failures: list[Exception] = []
        for running in list(self._running.values()):
            if self._is_gone(running, now):
                try:
                    _log.info("%s: %s is gone", self.name, running.kind)
                    self._cache_forgets(running.kind)
                    await self._deliver(running)
                    await self._end(running)
                except Exception as error:
                    failures.append(error)
        for group_kind, resource in now.resources.items():
            if group_kind not in self._running:
                try:
                    self._begin(group_kind, resource.gvk)
                except Exception as error:
                    error.add_note(f"for the kind {resource.gvk}")
                    failures.append(error)
        if failures:
            raise failures[0] if len(failures) == 1 else ExceptionGroup("kinds could not be followed", failures)
        return Result(requeue_after=UNKNOWN_SECONDS) if now.unknown else None

    def _is_gone(self, running: "_Running", now: Served) -> bool:
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
        # A kind that cannot be read (any more) is no reason for everything to end.
        controller.options = replace(controller.options, sync_timeout=None)
        self._manager.add(controller)
        running = self._running[group_kind] = _Running(kind, controller)
        for name, values_of in self._indexes.items():
            self._index(running, name, values_of)
        _log.info("%s: %s is followed by %s", self.name, kind, controller.name)

    def _cache_forgets(self, kind: GroupVersionKind) -> None:
        """Whoever keeps objects of a kind that is gone hears that they are, too."""
        self.client().mapper.forget(kind)
        for informer in self.cache().informers:
            if informer.kind.gvk == kind:
                for part in informer.scope.namespaces:
                    informer.replace((), part, initial=False)

    async def _deliver(self, running: "_Running") -> None:
        """Waits until a controller has worked off what it was told last."""
        queue = running.controller.queue
        try:
            async with timeout(self.clock, FINAL_SECONDS):
                while running.controller.working and (len(queue) or queue.delayed or queue.working()):
                    await self.clock.sleep(_LOOK_SECONDS)
        except TimeoutError:
            left = len(queue) + queue.delayed + len(queue.working())
            _log.warning("%s ends with %d requests that it has not ended well with", running.controller.name, left)

    async def _end(self, running: "_Running") -> None:
        del self._running[running.kind.group_kind]
        if running.informer is not None:
            await self.cache().release(running.informer)
        if running.controller in self._manager.controllers:
            await self._manager.remove(running.controller)


class _Running:
    """A kind that is followed."""

    def __init__(self, kind: GroupVersionKind, controller: Controller) -> None:
        self.kind = kind
        self.controller = controller
        # Kept where there are indexes.
        self.informer: Informer[Any] | None = None
