"""The chain: several handlers of one kind that share an informer and a queue, and pass the object to each other.

A chain is a controller. In addition, the chain tracks for each object the handlers to call again and the time of the
call, so that a failed handler is retried alone, with its own backoff, while the others continue.
"""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Unpack, overload

import setpoint.flow.chain.chain_metrics as chain_metrics
from setpoint.cache.entry import CachedObject
from setpoint.cache.informer import Change
from setpoint.client.client import Client
from setpoint.client.kinds import Kind, KindRef, Obj, R, kind_of
from setpoint.client.options import Options as ClientOptions
from setpoint.controller.context import Context
from setpoint.controller.controller import GRACEFUL_SECONDS, Controller
from setpoint.controller.expectations import Expectations
from setpoint.controller.options import Settings
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.request import Request, Result, Trigger
from setpoint.controller.watch import Watch
from setpoint.controller.watchdog import Watched
from setpoint.flow.chain.handler import DELETE, REMOVE, ChainHandler, HandlerContext
from setpoint.flow.chain.order import RegistrationError, before, ordered
from setpoint.flow.chain.records import FIELD, check_records
from setpoint.flow.chain.register import Registrar, Staged, check_finalizer, registration
from setpoint.flow.chain.todo import AnyHandler, DeletedObject, Todo
from setpoint.flow.chain.walk import ChainReconcile
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.provenance import Cause
from setpoint.objects.tree import Object

# Trigger events that concern only some handlers; all others concern every handler.
_OWN = frozenset(("retry", "requeue", "replay"))

_log = logging.getLogger(__name__)


class Chain(Controller, Registrar[Obj]):
    """The handlers of one kind, as a controller.

    `finalizer` is the default finalizer of `on_remove` handlers. `retired` are finalizers that are no longer in use:
    the chain removes them from all objects. `records` is the field of the status with the records of handlers that are
    called once for each generation (`once=True`). The other settings are those of a controller; backoff and timeout are
    set per handler.

        nodes = Chain(Node, finalizer="example.com/nodes")

        @nodes.on_change("label-zone", timeout=30)
        async def label_zone(ctx: HandlerContext, node: Node) -> Node | None: ...
    """

    @overload
    def __init__(
        self: "Chain[R]",
        kind: type[R],
        *,
        name: str = "",
        finalizer: str = "",
        retired: Sequence[str] = (),
        records: str = FIELD,
        **settings: Unpack[Settings],
    ) -> None: ...
    @overload
    def __init__(
        self: "Chain[Object]",
        kind: GroupVersionKind | str | KindRef | Watch,
        *,
        name: str = "",
        finalizer: str = "",
        retired: Sequence[str] = (),
        records: str = FIELD,
        **settings: Unpack[Settings],
    ) -> None: ...
    def __init__(
        self,
        kind: Kind[Any] | Watch,
        *,
        name: str = "",
        finalizer: str = "",
        retired: Sequence[str] = (),
        records: str = FIELD,
        **settings: Unpack[Settings],
    ) -> None:
        """Creates the chain. Raises ValueError for invalid settings."""
        for each in (*retired, *((finalizer,) if finalizer else ())):
            check_finalizer(each)
        self.finalizer = finalizer
        self.retired = frozenset(retired)
        self.records = records
        # By name; and in call order, as an immutable tuple that is replaced on changes.
        self._handlers: dict[str, AnyHandler] = {}
        self.order: tuple[AnyHandler, ...] = ()
        self._before: dict[AnyHandler, frozenset[AnyHandler]] = {}
        self._following: dict[AnyHandler, list[AnyHandler]] = {}
        self._todos: dict[Request, Todo] = {}
        self.kind = kind_of(kind.kind if isinstance(kind, Watch) else kind)
        if "limiter" in settings:
            raise ValueError("a chain has no limiter: set on_change(..., backoff=...) per handler")
        if "timeout" in settings:
            raise ValueError("a chain has no timeout: set on_change(..., timeout=...) per handler")
        settings["limiter"] = lambda: _Times(self)
        settings["timeout"] = None
        super().__init__(name or self.kind.gvk.kind.lower(), self._walk, kind=kind, **settings)

    # Handlers

    @property
    def handlers(self) -> tuple[AnyHandler, ...]:
        """The handlers in call order."""
        return self.order

    @asynccontextmanager
    async def registration(self) -> AsyncIterator[Staged[Obj]]:
        """Registers several handlers together at the end of the block; if the block raises, none is registered.

        Use `setpoint.flow.chain.registration` for handlers of several chains.

            async with nodes.registration() as new:
                new.on_change("first", after=["second"])(first)
                new.on_change("second")(second)
        """
        async with registration(self) as (staged,):
            yield staged

    def _chain(self) -> "Chain[Obj]":
        return self

    def _add_handler(self, handler: ChainHandler[Any]) -> None:
        self.check([handler])
        self.adopt([handler])

    def check(self, handlers: Iterable[AnyHandler]) -> None:
        """Checks that handlers can join the chain. Raises RegistrationError."""
        every = dict(self._handlers)
        for handler in handlers:
            if handler.name in every:
                raise RegistrationError(
                    f"{handler.name} is already a handler of {self.name}: remove it first, or choose another name"
                )
            every[handler.name] = handler
        for handler in handlers:
            if handler.settings.once:
                check_records(self.kind, self.records, handler.name)
            for other in handler.settings.after:
                if other in every and (every[other].settings.event == DELETE) != (handler.settings.event == DELETE):
                    raise RegistrationError(
                        f"{handler.name} cannot come after {other}: only one of them is an on_delete handler"
                    )
        ordered({name: self._after(each, every) for name, each in every.items()})

    def _after(self, handler: AnyHandler, every: dict[str, AnyHandler]) -> list[str]:
        """Returns the names that a handler comes after. Ignores removed handlers if the handler is already active."""
        names = handler.settings.after
        return [name for name in names if name in every] if handler.active else list(names)

    def adopt(self, handlers: Sequence[AnyHandler]) -> None:
        """Adds checked handlers, and calls only them for existing objects."""
        for handler in handlers:
            self._handlers[handler.name] = handler
        self._arrange()
        for handler in handlers:
            handler.active = True
            handler.reset(self.clock, self.line_in_thread)
            if self.working:
                handler.start()
        if self._attached:
            self._replay([handler for handler in handlers if handler.settings.event != DELETE])

    def drop(self, handler: AnyHandler) -> None:
        """Removes a handler. Handlers that waited for the removed one continue."""
        if not handler.active:
            return
        handler.active = False
        del self._handlers[handler.name]
        after = self.following(handler)
        self._arrange()
        working = self.queue.working()
        for request, todo in list(self._todos.items()):
            blocked = handler in todo.failed or handler in todo.due
            todo.drop(handler)
            if blocked and after:
                todo.schedule(after, self.clock.monotonic())
                self.queue.add(request, Trigger("replay", f"without {handler.name}"))
            elif todo.is_empty and request not in working:
                del self._todos[request]

    def _arrange(self) -> None:
        every = self._handlers
        after = {name: self._after(handler, every) for name, handler in every.items()}
        self.order = tuple(every[name] for name in ordered(after))
        self._before = {each: frozenset(every[name] for name in before(after, each.name)) for each in self.order}
        self._following = {each: [other for other in self.order if each in self._before[other]] for each in self.order}

    def before(self, handler: AnyHandler) -> frozenset[AnyHandler]:
        """Returns all handlers that a handler comes after, directly or indirectly."""
        return self._before.get(handler, frozenset())

    def following(self, handler: AnyHandler) -> Sequence[AnyHandler]:
        """Returns all handlers that come after a handler, directly or indirectly."""
        return self._following.get(handler, ())

    @property
    def finalizers(self) -> list[str]:
        """The finalizers that the chain adds to every object."""
        return list(dict.fromkeys(each.settings.finalizer for each in self.order if each.settings.event == REMOVE))

    def _replay(self, handlers: Sequence[AnyHandler]) -> None:
        """Calls handlers for all existing objects."""
        if not handlers:
            return
        now = self.clock.monotonic()
        trigger = Trigger("replay", ", ".join(handler.name for handler in handlers))
        for request in self._requests():
            todo = self._todos.setdefault(request, Todo())
            for handler in handlers:
                todo.put(handler, now, followed=False)
            self.queue.add(request, trigger, priority=self.initial_priority)

    def _requests(self) -> list[Request]:
        """Returns the requests of all cached objects."""
        found: dict[Request, None] = {}
        for cluster, cache in self._caches.items():
            for informer in cache.informers:
                if informer.kind == self.primary:
                    for entry in informer.store.all():
                        found[Request(entry.meta.name, entry.meta.namespace, cluster)] = None
        return [request for request in found if self.entry_of(request) is not None]

    # Requests from other code

    def enqueue_object(self, name: str, namespace: str = "", *, cluster: str = "") -> None:
        """Calls all handlers for an object soon."""
        self.enqueue(Request(name, namespace, cluster))

    def enqueue_after(self, name: str, namespace: str = "", *, seconds: float, cluster: str = "") -> None:
        """Calls all handlers for an object after some seconds. Of several calls the earliest time counts.

        Other changes before that time do not cancel the call.
        """
        request = Request(name, namespace, cluster)
        todo = self._todos.setdefault(request, Todo())
        todo.wanted = min(todo.wanted, self.clock.monotonic() + seconds)
        self.queue.add_after(request, seconds, Trigger("requeue"))

    def has_readers(self, kind: KindRef) -> bool:
        """Returns True also for the kind of the chain: `enqueue_readers` records deleted objects of this kind."""
        return kind.gvk == self.kind.gvk or super().has_readers(kind)

    def enqueue_readers(self, kind: KindRef, change: Change[Any], trigger: Trigger, cluster: str = "") -> None:
        """Records the last state of deleted objects for `on_delete` handlers, and queues requests as any controller."""
        old = change.old
        if old is not None and kind.gvk == self.kind.gvk and (change.new is None or change.is_another):
            self._record_deletion(Request(old.meta.name, old.meta.namespace, cluster), old, change.unseen)
        super().enqueue_readers(kind, change, trigger, cluster)

    def _record_deletion(self, request: Request, entry: CachedObject[Any], unseen: bool) -> None:
        waiting = {handler for handler in self.order if handler.settings.event == DELETE}
        if not waiting:
            return
        todo = self._todos.setdefault(request, Todo())
        if any(departed.entry.meta.uid == entry.meta.uid for departed in todo.deleted):
            return
        todo.deleted.append(DeletedObject(entry, unseen, waiting))
        for handler in waiting:
            todo.put(handler, self.clock.monotonic())

    def todo(self, request: Request) -> Todo | None:
        """Returns the pending work of a request; None without any."""
        return self._todos.get(request)

    # Running

    def _reset_state(self) -> None:
        super()._reset_state()
        self._todos = {}
        # The backoff of failed reads, which are not the failure of a handler.
        self.reading = Exponential()
        for handler in self.order:
            handler.reset(self.clock, self.line_in_thread)

    def work(self) -> None:
        super().work()
        for handler in self.order:
            handler.start()

    async def stop(self, graceful: float | None = GRACEFUL_SECONDS) -> None:
        try:
            await super().stop(graceful)
        finally:
            for handler in self.order:
                await handler.stop()

    def stuck(self) -> list[Watched]:
        return [found for handler in self.order for found in handler.stuck()]

    def families(self) -> list[MetricFamily]:
        """Returns the metrics of the handlers."""
        failing = Counter(handler.name for todo in self._todos.values() for handler in todo.failed)
        return list(chain_metrics.families(self.name, self.order, failing))

    async def _walk(self, ctx: Context, request: Request) -> Result | None:
        """Calls the due handlers."""
        todo = self._todos.setdefault(request, Todo())
        now = self.clock.monotonic()
        run = ctx.run
        if todo.consume_wanted(now) or run.more or not run.why or any(why.event not in _OWN for why in run.why):
            for handler in self.order:
                if handler.settings.event != DELETE:
                    todo.put(handler, now)
        walk = ChainReconcile(self, ctx, todo)
        try:
            await walk.run()
        finally:
            if todo.is_empty:
                self._todos.pop(request, None)
        return walk.result()

    async def report(self, ctx: Context, *, final: bool) -> None:
        """Writes the status that the handlers have collected."""
        if ctx.reported is not None:
            await self._report(ctx, ctx.reported, final=final)

    def _client_arguments(
        self, ctx: Context, cluster: str, cause: Cause
    ) -> tuple[Client, ClientOptions, Context, Expectations, GroupVersionKind | None]:
        client, options, ctx, expectations, primary = super()._client_arguments(ctx, cluster, cause)
        if isinstance(ctx, HandlerContext):
            manager = ctx.handler.settings.field_manager or f"{options.field_manager}/{ctx.handler.name}"
            options = options._replace(field_manager=manager[:128])
        return client, options, ctx, expectations, primary


class _Times:
    """The delay of a failed request: until the first of its handlers is due."""

    def __init__(self, chain: Chain[Any]) -> None:
        self._chain = chain

    def delay(self, key: Hashable) -> float:
        todo = self._chain.todo(key) if isinstance(key, Request) else None
        wait = None if todo is None else todo.wait(self._chain.clock.monotonic())
        return self._chain.reading.delay(key) if wait is None else wait

    def forget(self, key: Hashable) -> None:
        """Does not apply: each handler has its own limiter."""

    def retries(self, key: Hashable) -> int:
        return max((handler.limiter.retries(key) for handler in self._chain.order), default=0)
