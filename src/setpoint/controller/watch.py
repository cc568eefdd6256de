"""The most common source: the objects of a kind, watched through a cache.

    Watch("v1/ConfigMap", mapped(who_uses_it), labels="app", predicates=[changed("data")])

Use `optional` for a kind that the server may not have (yet): the watch starts when the kind appears and stops when the
kind disappears, and the controller starts without waiting for the kind.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, TypeGuard, cast

from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change, Informer, Registration
from setpoint.cache.reflector import FAILING
from setpoint.cache.scope import EVERYWHERE
from setpoint.client.kinds import Kind, KindRef, kind_of
from setpoint.client.mapper import NoMatch
from setpoint.client.selectors import FieldsArgument, LabelsArgument
from setpoint.client.transport import TransportError
from setpoint.controller.handler import EventHandler, Owners, Requests, for_object
from setpoint.controller.predicate import Predicate, passes
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.request import Request, Trigger
from setpoint.controller.source import Attached, SourceHost
from setpoint.objects.clock import Clock
from setpoint.objects.errors import APIError

# The interval at which the server is asked for an optional kind, as in controller-runtime.
KIND_SECONDS = 10.0
# The interval at which an unresponsive server is asked again at the start.
ANSWER_SECONDS = 1.0

_log = logging.getLogger(__name__)


def for_none(entry: CachedObject[Any]) -> tuple[Request, ...]:
    """The handler of kinds that are only looked up: a change triggers only the requests that looked up the object."""
    return ()


@dataclass(frozen=True, eq=False)
class Watch:
    """A source of the objects of a kind. By default a change triggers the object itself.

    Watch("v1/ConfigMap", mapped(who_uses_it), labels="app", predicates=[changed("data")])
    """

    kind: Kind[Any]
    handler: EventHandler = for_object
    predicates: Sequence[Predicate] = ()
    # The watched namespaces; empty: all.
    namespaces: Sequence[str] = ()
    labels: LabelsArgument = None
    fields: FieldsArgument = None
    optional: bool = False
    cluster: str = ""
    # All objects are reported again after this many seconds (± 10 %, random); None: never.
    resync: float | None = None

    @property
    def name(self) -> str:
        where = ",".join(self.namespaces)
        text = f"{kind_of(self.kind)}{' in ' + where if where else ''}"
        return f"{self.cluster}:{text}" if self.cluster else text

    def with_handler(self, handler: EventHandler, predicates: Sequence[Predicate] | None = None) -> "Watch":
        """Returns a watch of the same objects with another handler."""
        wanted = self.predicates if predicates is None else predicates
        return Watch(
            self.kind,
            handler,
            wanted,
            self.namespaces,
            self.labels,
            self.fields,
            self.optional,
            self.cluster,
            self.resync,
        )

    async def attach(self, host: SourceHost) -> Attached:
        watching = _Optional(self, host) if self.optional else _Watching(self, host)
        await watching.start()
        return watching


@dataclass(frozen=True, eq=False)
class Owned(Watch):
    """A source of objects that the controller's objects own; a change triggers the owner.

    The owner is the controlling owner; with `every_owner`, every owner of the controller's kind.

        Owned("v1/ConfigMap", labels="app")
    """

    every_owner: bool = False

    async def attach(self, host: SourceHost) -> Attached:
        return await self.with_handler(await self.owners(host)).attach(host)

    async def owners(self, host: SourceHost) -> Owners:
        """Returns the handler that maps an object to its owners. Raises ValueError for a controller without a kind."""
        owner = host.primary
        if owner is None:
            raise ValueError(f"{self.name}: Owned needs a controller with exactly one primary kind")
        return Owners(owner.gvk.group_kind, await _is_namespaced(host, owner), controller_only=not self.every_owner)

    @classmethod
    def like(cls, watch: Watch) -> "Owned":
        """Converts a watch to a source of owned objects."""
        if isinstance(watch, cls):
            return watch
        return cls(**{each.name: getattr(watch, each.name) for each in fields(watch)})


async def _is_namespaced(host: SourceHost, kind: KindRef) -> bool:
    """Returns True if a kind is namespaced. Waits for an unresponsive server."""
    if kind.cls is not None and kind.cls.__resource__.kind:
        return kind.cls.__resource__.scope == "Namespaced"
    while True:
        try:
            return (await host.cache("").client.resource(kind)).namespaced
        except NoMatch:
            return True
        except (APIError, TransportError) as error:
            _log.info("cannot determine the scope of %s yet: %s", kind, error)
            await host.clock.sleep(ANSWER_SECONDS)


class _Watching:
    """A running watch."""

    def __init__(self, watch: Watch, host: SourceHost) -> None:
        self._watch = watch
        self._kind = kind_of(watch.kind)
        self.name = watch.name
        self._host = host
        self._predicates = tuple(watch.predicates)
        self._cache = host.cache(watch.cluster)
        self._informer: Informer[Any] | None = None
        self._registration: Registration | None = None
        self._retries = _Retries(self)

    async def start(self) -> None:
        self._acquire()

    def _acquire(self) -> None:
        watch = self._watch
        self._informer = self._cache.acquire(
            watch.kind, tuple(watch.namespaces) or EVERYWHERE, labels=watch.labels, fields=watch.fields
        )
        self._registration = self._informer.add_handler(self._on_change, resync=watch.resync)

    async def _release(self) -> None:
        informer, self._informer = self._informer, None
        if self._registration is not None:
            self._registration.remove()
        if informer is not None:
            await self._cache.release(informer)

    @property
    def synced(self) -> bool:
        return self._informer is not None and self._informer.synced

    @property
    def problem(self) -> str:
        informer = self._informer
        if informer is None or (informer.synced and informer.state != FAILING):
            return ""
        return informer.problem or f"{self.name}: {informer.state}"

    async def wait_synced(self) -> None:
        if self._informer is not None:
            await self._informer.wait_synced()

    async def detach(self) -> None:
        await self._retries.stop()
        await self._release()

    # Events

    def _on_change(self, change: Change[Any]) -> None:
        if not self._predicates or passes(self._predicates, change):
            self._retries.deliver(change)

    @property
    def clock(self) -> Clock:
        return self._host.clock

    @property
    def has_readers(self) -> bool:
        """False if a change that triggers no request has no effect."""
        return self._host.has_readers(self._kind)

    def requests(self, entry: CachedObject[Any]) -> Requests:
        return self._watch.handler(entry)

    def report_failure(self, error: Exception) -> None:
        self._host.report_failure(self.name, error)

    def enqueue(self, change: Change[Any], requests: Iterable[Request]) -> None:
        """Queues the requests that a change triggers."""
        entry = change.new or change.old or change.held
        host, cluster = self._host, self._watch.cluster
        event, priority = _event(change), 0
        if change.initial or change.resync:
            priority = host.initial_priority
        trigger = Trigger(event, self.name, self._kind.gvk, entry.key, entry.meta.resource_version, change)
        for request in dict.fromkeys(requests):
            host.enqueue(request._replace(cluster=cluster) if cluster else request, trigger, priority)
        host.enqueue_readers(self._kind, change, trigger, cluster)


class _Optional(_Watching):
    """A running watch of an optional kind."""

    def __init__(self, watch: Watch, host: SourceHost) -> None:
        super().__init__(watch, host)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        clock = self._host.clock
        while True:
            present = await self._is_present()
            if present and self._informer is None:
                _log.info("%s has appeared; watching", self.name)
                self._acquire()
            elif not present and self._informer is not None:
                _log.info("%s has disappeared", self.name)
                await self._release()
            await clock.sleep(KIND_SECONDS)

    async def _is_present(self) -> bool:
        client = self._cache.client
        if self._informer is not None and self._informer.state == FAILING:
            client.mapper.evict(self._kind.gvk)  # the kind may be deleted: ask again
        try:
            await client.mapper.resource(self._kind.gvk)
        except NoMatch:
            return False
        except (APIError, TransportError):
            return self._informer is not None  # unknown: keep the current state
        return True

    @property
    def synced(self) -> bool:
        return True

    @property
    def problem(self) -> str:
        return (
            super().problem if self._informer is not None else f"{self.name}: the server does not have this kind (yet)"
        )

    async def wait_synced(self) -> None:
        """Returns at once: the controller does not wait for an optional kind."""

    async def detach(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await super().detach()


class _Retries:
    """Calls the handler for changes, and retries failed or async handlers in the background.

    No event is lost because a handler failed. If an object changes again meanwhile, intermediate states may be skipped.
    """

    def __init__(self, watching: _Watching) -> None:
        self._watching = watching
        self._limiter = Exponential()
        self._pending: dict[str, Change[Any]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # Results that a task has not taken over yet: a task cancelled before its first step never does.
        self._results: dict[str, list[Requests]] = {}

    def deliver(self, change: Change[Any]) -> None:
        if self._pending and (key := change.held.meta.key) in self._pending:
            self._pending[key] = Change(self._pending[key].old, change.new or change.old)
            return
        try:
            results = self._call_handler(change)
        except Exception as error:
            self._later(change.held.meta.key, change, error)
            return
        if not any(results) and not self._watching.has_readers:
            return  # most changes of pods concern one of many controllers
        if any(_waits(each) for each in results):
            key = change.held.meta.key
            self._results[key] = results
            self._later(key, change)
            return
        self._watching.enqueue(change, chain.from_iterable(cast("list[Iterable[Request]]", results)))

    def _later(self, key: str, change: Change[Any], error: Exception | None = None) -> None:
        self._pending[key] = change
        self._tasks[key] = asyncio.ensure_future(self._try(key, error))

    async def _try(self, key: str, error: Exception | None) -> None:
        """Calls the handler for the changes of an object until none is left. `error` is the first failure."""
        results = self._results.pop(key, None)
        while True:
            if error is not None:
                await self._wait_backoff(key, error)
                error = None
            change = self._pending[key]
            try:
                found = await _await_results(results if results is not None else self._call_handler(change))
            except Exception as failure:
                error = failure
                continue
            finally:
                results = None
            self._watching.enqueue(change, found)
            if self._pending[key] is change:
                break
        del self._pending[key], self._tasks[key]
        self._limiter.forget(key)

    def _call_handler(self, change: Change[Any]) -> list[Requests]:
        """Calls the handler for the states of a change, and returns its results. Raises the handler's exception."""
        results: list[Requests] = []
        try:
            results.extend(self._watching.requests(entry) for entry in _states(change))
        except BaseException:
            _close(results)
            raise
        return results

    async def _wait_backoff(self, key: str, error: Exception) -> None:
        seconds = self._limiter.delay(key)
        _log.error(
            "the handler failed for a change of %s in %s; retrying in %.3g s",
            key,
            self._watching.name,
            seconds,
            exc_info=error,
        )
        self._watching.report_failure(error)
        await self._watching.clock.sleep(seconds)

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for results in self._results.values():
            _close(results)
        self._results.clear()
        self._pending.clear()
        self._tasks.clear()


def _waits(answer: Requests) -> "TypeGuard[Awaitable[Iterable[Request]]]":
    return not isinstance(answer, (list, tuple)) and inspect.isawaitable(answer)


async def _await_results(results: list[Requests]) -> list[Request]:
    """Awaits the requests of a handler. If one result fails, the others are closed."""
    found: list[Request] = []
    try:
        for each in results:
            found += await each if _waits(each) else cast("Iterable[Request]", each)
    finally:
        _close(results)
    return found


def _close(results: list[Requests]) -> None:
    """Closes results that were not awaited: Python warns about coroutines that are never awaited."""
    for each in results:
        close = getattr(each, "close", None)
        if close is not None and _waits(each):
            close()


def _states(change: Change[Any]) -> list[CachedObject[Any]]:
    """Returns the old and the new state of an object, if present."""
    old, new = change.old, change.new
    return [entry for entry in ((old, new) if old is not new else (new,)) if entry is not None]


def _event(change: Change[Any]) -> str:
    if change.resync:
        return "resync"
    if change.old is None:
        return "initial" if change.initial else "created"
    return "deleted" if change.new is None else "updated"
