"""One reconcile of a chain: calls the due handlers in order, each with the result of the previous one.

* An exception of a handler delays only the handlers that come `after` it, until it succeeds.
* Deleted objects are reported first; then an existing object of the same name is handled.
* Before any handler is called, the object gets the required finalizers. A terminating object is passed to its
  `on_remove` handlers, and each finalizer is removed when all handlers that share it have succeeded.
* After a handler that wrote the object, the next one gets the written object.
"""

import asyncio
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

from setpoint.client.kinds import KindRef
from setpoint.client.mapper import NoMatch
from setpoint.controller.context import Context, ContextHost
from setpoint.controller.queue import Queue
from setpoint.controller.ratelimit import Exponential
from setpoint.controller.recording_client import metadata_of
from setpoint.controller.request import Request, Requeue, Result, TerminalError, Trigger
from setpoint.controller.run_record import CONFLICT, ERROR, REQUEUE, SUCCESS, TERMINAL, TIMEOUT, ReconcileRecord
from setpoint.controller.sync_context import call_in_thread
from setpoint.flow.chain.finalizers import change_finalizers, finalizers_of, is_terminating
from setpoint.flow.chain.handler import (
    CHANGE,
    DELETE,
    REMOVE,
    Gone,
    HandlerContext,
    Skip,
    SyncHandlerContext,
)
from setpoint.flow.chain.records import check_written, generation_of, put_record, recorded_generation
from setpoint.flow.chain.todo import AnyHandler, Due, Todo
from setpoint.objects.errors import ApplyConflict, Conflict, NotFound
from setpoint.schema.types.frozen import freeze
from setpoint.schema.types.resource import Resource

SKIPPED = "skipped"


class _CallOutcome(NamedTuple):
    """The outcome of a handler call."""

    # True if no work is left.
    is_finished: bool
    # The returned object, if any, and whether the handler wrote the given object.
    returned: Any = None
    has_writes: bool = False
    # True if the handler returned without a requeue.
    has_succeeded: bool = False


class WalkedChain(ContextHost, Protocol):
    """The chain whose handlers are called."""

    order: tuple[AnyHandler, ...]
    retired: frozenset[str]
    records: str
    kind: KindRef
    reading: Exponential
    queue: Queue[Request]

    @property
    def finalizers(self) -> list[str]: ...

    def before(self, handler: AnyHandler) -> frozenset[AnyHandler]: ...

    def following(self, handler: AnyHandler) -> Sequence[AnyHandler]: ...

    async def report(self, ctx: Context, *, final: bool) -> None: ...


class ChainReconcile:
    """One reconcile of a chain."""

    def __init__(self, chain: WalkedChain, ctx: Context, todo: Todo) -> None:
        self._chain = chain
        self._ctx = ctx
        self._todo = todo
        self._request = ctx.request
        self._called: list[AnyHandler] = []
        self._errors: list[Exception] = []

    async def run(self) -> None:
        """Calls the due handlers. Raises only errors outside handlers, such as a failed read or write of the object."""
        chain, todo, request = self._chain, self._todo, self._request
        try:
            for handler in chain.order if todo.deleted else ():
                if handler.settings.event == DELETE and self._is_next(handler):
                    await self._call_for_deleted(handler)
            todo.deleted = [departed for departed in todo.deleted if departed.waiting]
            obj = await self._read()
            if obj is not None:
                obj = await self._update_finalizers(obj)
            if obj is not None:
                obj = await self._handle(obj)
            await self._report(gone=obj is None)
        except Exception:
            todo.not_before = chain.clock.monotonic() + chain.reading.delay(request)
            raise
        chain.reading.forget(request)
        todo.not_before = 0.0
        if obj is None:
            self._discard_pending()
        self._ctx.lookups.update(look for lookups in todo.lookups.values() for look in lookups)

    def result(self) -> Result | None:
        """Returns when the request runs next. Raises the exceptions of handlers: one as is, several as a group."""
        wait = self._todo.wait(self._chain.clock.monotonic())
        conflicts = [error for error in self._errors if _is_conflict(error)]
        terminal = [error for error in self._errors if isinstance(error, TerminalError)]
        grave = [error for error in self._errors if error not in conflicts and error not in terminal]
        if len(grave) > 1:
            raise ExceptionGroup(f"{len(grave)} handlers failed", grave)
        for error in (*grave, *conflicts):
            raise error
        for error in terminal:
            if wait is not None:  # another handler has pending work
                self._chain.queue.add_after(self._request, wait, Trigger("requeue"))
            raise error
        return None if wait is None else Result(requeue_after=wait)

    # The object

    async def _read(self) -> Any:
        """Returns the current object; None if the object or its kind is deleted."""
        try:
            return await self._ctx.object()
        except NoMatch:
            return None

    async def _update_finalizers(self, obj: Any) -> Any:
        """Adds missing finalizers and removes retired ones. Returns None if the object is deleted thereby."""
        chain, has = self._chain, finalizers_of(obj)
        add = () if is_terminating(obj) else [each for each in chain.finalizers if each not in has]
        remove = chain.retired.intersection(has)
        return await self._with_finalizers(obj, add, remove) if add or remove else obj

    async def _remove_finalizer(self, handler: AnyHandler, obj: Any) -> Any:
        """Removes a finalizer after all its handlers have succeeded. Returns None if the object is deleted thereby."""
        finalizer = handler.settings.finalizer
        sharing = [each for each in self._chain.order if each.settings.finalizer == finalizer]
        if not all(self._todo.is_finished(each) for each in sharing):
            return obj
        try:
            return await self._with_finalizers(obj, (), {finalizer})
        except Exception:
            self._todo.put(handler, self._now)
            raise

    async def _with_finalizers(
        self, obj: Any, add: "tuple[str, ...] | list[str]", remove: "set[str] | frozenset[str]"
    ) -> Any:
        found = await change_finalizers(self._ctx, self._chain.kind, obj, add=add, remove=remove)
        return None if found is None else freeze(found)

    async def _report(self, *, gone: bool) -> None:
        """Writes the collected status. Updates `observedGeneration` only if all handlers have succeeded."""
        ctx, todo = self._ctx, self._todo
        try:
            if not gone:
                await self._chain.report(ctx, final=not todo.failed)
        except NotFound:
            pass  # the object was deleted meanwhile, with its status
        except Exception:
            for handler in self._called:
                todo.put(handler, self._now)
            raise
        finally:
            ctx.discard_status()

    def _discard_pending(self) -> None:
        """Drops the pending work of a deleted object."""
        for handler in self._chain.order:
            if handler.settings.event != DELETE:
                self._todo.drop(handler)
                handler.limiter.forget(self._request)

    # Handlers

    async def _call_for_deleted(self, handler: AnyHandler) -> None:
        """Calls a handler for the deleted objects, oldest first, until the first failure."""
        todo = self._todo
        for departed in [each for each in todo.deleted if handler in each.waiting]:
            called = await self._call(handler, Gone(departed.entry.object, departed.unseen))
            if not called.is_finished and handler in todo.due:
                return
            # A deleted object does not change any more: a handler that gave up is not called again.
            departed.waiting.discard(handler)
            todo.failed.discard(handler)

    async def _handle(self, obj: Any) -> Any:
        """Calls the due handlers for an object. Returns the resulting object; None if deleted."""
        todo = self._todo
        for handler in self._chain.order:
            settings, going = handler.settings, is_terminating(obj)
            if settings.event == DELETE:
                continue
            if not _applies_to(handler, obj, going):
                todo.drop(handler)
                continue
            if not self._is_next(handler):
                continue
            called = await (self._call_once(handler, obj) if settings.once else self._call(handler, obj))
            if called.returned is not None:
                obj = called.returned
            elif called.has_writes:
                obj = await self._read()
            if obj is not None and called.is_finished and settings.event == REMOVE:
                obj = await self._remove_finalizer(handler, obj)
            if obj is None:
                return None
        return obj

    async def _call_once(self, handler: AnyHandler, obj: Any) -> _CallOutcome:
        """Calls a handler unless it has succeeded for the generation of the object, and records its success."""
        todo, field, name = self._todo, self._chain.records, handler.name
        try:
            generation = generation_of(obj, name)
            if await self._has_succeeded(handler, obj, generation):
                todo.due.pop(handler, None)
                todo.failed.discard(handler)
                # The former process may have ended before it reported the generation.
                await self._ctx.load_status(obj)
                return _CallOutcome(True)
            called = _CallOutcome(True)
            if todo.unrecorded.get(handler) != generation:
                called = await self._call(handler, obj)
                if not called.has_succeeded:
                    return called
                todo.unrecorded[handler] = generation
            await put_record(self._ctx, field, name, generation)
            await self._chain.report(self._ctx, final=False)
            self._ctx.discard_status()
            await check_written(self._ctx, field, name, generation)
        except TerminalError as error:
            todo.due.pop(handler, None)
            todo.failed.add(handler)
            self._errors.append(error)
            return _CallOutcome(False)
        except Exception:
            todo.put(handler, self._now)  # the record is written again, without a call
            raise
        todo.unrecorded.pop(handler, None)
        todo.due.pop(handler, None)
        # The write of the record is one of the object.
        return called._replace(has_writes=True)

    async def _has_succeeded(self, handler: AnyHandler, obj: Any, generation: int) -> bool:
        """Returns True if a record shows the success of a handler. Asks the server if the cache has no record: after a
        restart, the cache may be older than the last write of the former process."""
        field, name = self._chain.records, handler.name
        if recorded_generation(obj, field, name) >= generation:
            return True
        if handler in self._todo.unrecorded:
            return False
        try:
            live = await self._ctx.api.get(self._chain.kind, self._request.name, self._request.namespace)
        except NotFound:
            return True  # deleted meanwhile
        return metadata_of(live).uid == metadata_of(obj).uid and recorded_generation(live, field, name) >= generation

    def _is_next(self, handler: AnyHandler) -> bool:
        """Returns True if a handler is due and all handlers before have succeeded."""
        if not handler.active or not self._todo.is_due(handler, self._now):
            return False
        if self._todo.failed.isdisjoint(self._chain.before(handler)):
            return True
        self._todo.due[handler] = Due(inf)
        return False

    async def _call(self, handler: AnyHandler, obj: Any) -> _CallOutcome:
        """Calls a handler, contains its exceptions, and schedules its next call."""
        task, run, chain = asyncio.current_task(), self._ctx.run, self._chain
        assert task is not None
        began, writes = self._now, len(run.writes)
        call = ReconcileRecord(
            id=run.id,
            controller=f"{chain.name}/{handler.name}",
            request=run.request,
            why=run.why,
            more=run.more,
            priority=run.priority,
            attempt=run.attempt,
            waited=run.waited,
            began=run.began,
            started=began,
        )
        due = self._todo.due.pop(handler, Due(0.0))
        ctx = HandlerContext(chain, self._ctx, handler, handler.begin(call, task))
        self._called.append(handler)
        returned: Any = None
        error: Exception | None = None
        cancelled: asyncio.CancelledError | None = None
        try:
            if handler.is_blocking:
                returned = await call_in_thread(ctx, handler.function, obj, context=SyncHandlerContext)
            else:
                returned = await handler(ctx, obj)
            if handler.settings.event != DELETE:
                returned = self._check_identity(obj, returned)
        except asyncio.CancelledError as raised:
            cancelled = raised
        except Exception as raised:
            error = raised
        if handler.end(call, task):
            if task.uncancel() and cancelled is not None:
                raise cancelled  # the chain is stopped at the same time
            error = TimeoutError(f"the handler exceeded its timeout of {handler.settings.timeout:g} s")
        elif cancelled is not None:
            if task.cancelling():
                raise cancelled  # the chain is stopped
            error = RuntimeError("the handler awaited a cancelled task")
            error.__cause__ = cancelled
        handler.seconds.observe(self._now - began)
        settled = self._record_result(handler, ctx, due, error)
        wrote = len(run.writes) > writes and any(
            not write.skipped
            and write.kind == chain.kind.gvk
            and write.object == self._request._replace(cluster="").key
            for write in run.writes[writes:]
        )
        return _CallOutcome(settled, returned if error is None else None, wrote, error is None and ctx.again is None)

    def _check_identity(self, obj: Any, returned: Any) -> Any:
        """Returns the object that a handler returned, if it has the same identity. Raises TerminalError."""
        if returned is None or returned is obj:
            return None
        if not isinstance(returned, Resource | dict):
            raise TerminalError(f"a handler must return the object or None, not {type(returned).__name__}")
        wanted, found = metadata_of(obj), metadata_of(returned)
        if isinstance(returned, Resource) != isinstance(obj, Resource) or (found.key, found.uid) != (
            wanted.key,
            wanted.uid,
        ):
            raise TerminalError(f"a handler must return the object that it was given, {wanted.key}, not {found.key}")
        return freeze(returned)

    def _record_result(self, handler: AnyHandler, ctx: HandlerContext, due: Due, error: Exception | None) -> bool:
        """Records the result of a call and schedules the next one. Returns True if no work is left."""
        todo, request, limiter = self._todo, self._request, handler.limiter
        again, result, settled = ctx.again, SUCCESS, True
        if isinstance(error, Skip):
            # An `on_remove` handler that skips has not cleaned up.
            result, settled = SKIPPED, handler.settings.event != REMOVE
        elif isinstance(error, Requeue):
            result, settled, again = REQUEUE, False, error.after
        elif isinstance(error, TerminalError):
            result, settled = TERMINAL, False
        elif error is not None:
            result = CONFLICT if _is_conflict(error) else TIMEOUT if isinstance(error, TimeoutError) else ERROR
            settled, again = False, None
        elif again is not None:
            settled = handler.settings.event == CHANGE
        handler.results[result] += 1
        if result in (SUCCESS, SKIPPED, TERMINAL) or again is not None:
            limiter.forget(request)
        elif error is not None:
            again = limiter.delay(request)
        if error is not None and result not in (SKIPPED, REQUEUE):
            error.add_note(f"in the handler {handler.name} of {self._chain.name}")
            self._errors.append(error)
        if not handler.active:  # the handler was removed meanwhile
            todo.drop(handler)
            return True
        if again is not None:
            todo.put(handler, self._now + max(again, 0.0))
        lookups = frozenset(ctx.lookups) if error is None else todo.lookups.get(handler, frozenset()) | ctx.lookups
        if lookups:
            todo.lookups[handler] = lookups
        else:
            todo.lookups.pop(handler, None)
        if not settled:
            todo.failed.add(handler)
            return False
        todo.failed.discard(handler)
        if due.followed:
            todo.schedule(self._chain.following(handler), self._now)
        return True

    @property
    def _now(self) -> float:
        return self._chain.clock.monotonic()


def _applies_to(handler: AnyHandler, obj: Any, is_terminating: bool) -> bool:
    """Returns True if a handler applies to an object in its current state."""
    settings = handler.settings
    if settings.event == CHANGE:
        return settings.deleting or not is_terminating
    return is_terminating and settings.finalizer in finalizers_of(obj)


def _is_conflict(error: Exception) -> bool:
    """Returns True for a write conflict, except for conflicts of server-side apply."""
    return isinstance(error, Conflict) and not isinstance(error, ApplyConflict)
