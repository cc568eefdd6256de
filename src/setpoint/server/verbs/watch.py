"""Watches: what there is, if that is asked for, and then every change, in the order of the log.

A watch is a cursor into the log. It holds no queue: while its client takes its time, its place in the log waits, and if
the log is cut off behind it the client is told that it is too late. A frame is made once for all watches that send it.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from setpoint.objects import fields
from setpoint.objects.errors import APIError, BadRequest
from setpoint.objects.tree import Object
from setpoint.server import freshness
from setpoint.server.changes import ADDED, BOOKMARK, DELETED, ERROR, MODIFIED, event_frame, kind_of
from setpoint.server.context import Context
from setpoint.server.definitions import PREFIX as DEFINITIONS
from setpoint.server.exchange import Frame, Response, Sink
from setpoint.server.listoptions import ListOptions, list_options
from setpoint.server.negotiate import JSON, negotiate_stream
from setpoint.server.resource import Resource
from setpoint.server.selectors import NAME, ObjectSelector
from setpoint.server.watchforms import form_of
from setpoint.store.contract import Closed, Event, TooLate, Watch

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# Seconds: between two bookmarks; from the last one to the end; the least that a watch lasts, unless it was told.
BOOKMARK_INTERVAL = 60.0
_FAREWELL = 2.0
_LEAST_DURATION = 1800.0
# How much is written before the client is given time to take it.
_BURST = 256 * 1024

_encode = msgspec.json.Encoder().encode


async def watch(context: Context, resource: Resource) -> Response:
    options = list_options(context, watch=True)
    if context.info.name:
        options = options._replace(field_selector=_named(options.field_selector, context.info.name))
    # What is wrong with the request is found before the stream begins, and so is where "from now on" is.
    after = options.revision or await context.services.store.revision()
    return Response(200, JSON, WatchStream(context, resource, options, after))


def _named(selector: fields.Selector, name: str) -> fields.Selector:
    """The selector of a watch of one object, as the oldest clients ask for it."""
    if not selector.is_everything and selector.exact(NAME) != name:
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return fields.Selector((*selector.requirements, fields.Requirement(NAME, name)))


class WatchStream:
    """One watch, from its first event to its end."""

    def __init__(self, context: Context, resource: Resource, options: ListOptions, after: int) -> None:
        self._context = context
        self._services = context.services
        self._options = options
        self._after = after
        self._watch: Watch | None = None
        # Whether everything up to the place of the watch in the log was written, so that a bookmark may say so.
        self._waits = False
        self._over = False
        self._pending = 0
        self._registry = context.registry
        self._follow(resource)

    def _follow(self, resource: Resource) -> None:
        """Watches a resource, or what has taken its place."""
        options = self._options
        self._resource = resource
        self._selector = ObjectSelector(
            resource, self._context.info.namespace, options.label_selector, options.field_selector
        )
        self._selects = not self._selector.is_everything
        self._form = form_of(self._context, resource, negotiate_stream(self._context, resource))

    async def run(self, sink: Sink) -> None:
        """Sends everything there is to send. Returns at the end of the watch."""
        minders = (asyncio.create_task(self._mind(sink)), asyncio.create_task(self._end_with(sink)))
        try:
            await self._send(sink)
        except APIError as error:
            sink.write(event_frame(ERROR, _encode(error.to_status())))
        except TooLate as late:
            sink.write(event_frame(ERROR, _encode(freshness.too_old(late.revision, late.oldest).to_status())))
        except Closed:
            return
        finally:
            self._end()
            for minder in minders:
                minder.cancel()

    def _end(self) -> None:
        self._over = True
        if self._watch is not None:
            self._watch.close()

    async def _end_with(self, sink: Sink) -> None:
        """Ends the watch when its client goes."""
        await sink.wait_closed()
        self._end()

    async def _mind(self, sink: Sink) -> None:
        """Sends bookmarks now and then, and ends the watch when its time is over."""
        clock = self._services.clock
        end = clock.monotonic() + self._duration()
        while (left := end - clock.monotonic()) > 0:
            last = left <= _FAREWELL
            await clock.sleep(left if last else min(BOOKMARK_INTERVAL, left - _FAREWELL))
            if not last and self._options.allow_bookmarks and self._waits and self._watch is not None:
                sink.write(self._bookmark(self._watch.revision))
            if not self._is_served():
                break
        self._end()

    def _duration(self) -> float:
        """How long the watch lasts. Watches that began together do not end together."""
        if self._options.timeout_seconds:
            return float(self._options.timeout_seconds)
        return _LEAST_DURATION * (1 + self._services.ids.random())

    # Sending

    async def _send(self, sink: Sink) -> None:
        options, store = self._options, self._services.store
        if options.send_initial_events:
            reached = await self._send_initial_events(sink)
            if reached is None:
                return
            self._after = reached
        else:
            await self._check_begun(self._after)
        self._watch = store.watch(self._selector.prefix, self._after)
        while not self._over:
            self._waits = True
            events = await self._watch.next()
            self._waits = False
            if not await self._send_events(sink, events) or not self._keep_up():
                return

    async def _send_initial_events(self, sink: Sink) -> int | None:
        """Sends what there is, and returns the revision it is of; None where nobody listens any more."""
        options, store, selector = self._options, self._services.store, self._selector
        await freshness.wait_for(store, self._services.clock, options.revision)
        page = await store.range(selector.prefix)
        for item in page.items:
            if self._selects and not selector.matches(item.key, item.value, item.revision):
                continue
            if not await self._write(sink, event_frame(ADDED, self._form.item(item))):
                return None
        if options.allow_bookmarks:
            annotations = {INITIAL_EVENTS_END: "true"}
            if not await self._write(sink, self._bookmark(page.revision, annotations)):
                return None
        return page.revision

    async def _send_events(self, sink: Sink, events: Sequence[Event]) -> bool:
        form, frame = self._form, self._resource.changes.frame
        for event in events:
            kind = self._kind(event) if self._selects else kind_of(event.entry)
            if not kind:
                continue
            if form.name:
                made = frame(form.name, kind, event, form.event)
            else:
                made = event_frame(kind, form.event(kind, event))
            if not sink.write(made):
                return False
            self._pending += len(made.payload)
            if self._pending > _BURST and not await self._drain(sink):
                return False
        return True

    async def _write(self, sink: Sink, frame: Frame) -> bool:
        if self._over or not sink.write(frame):
            return False
        self._pending += len(frame.payload)
        return self._pending <= _BURST or await self._drain(sink)

    async def _drain(self, sink: Sink) -> bool:
        self._pending = 0
        return await sink.drain() and not self._over

    def _kind(self, event: Event) -> str:
        """What an event is to a watch with selectors: objects come into its sight, and go out of it."""
        entry, previous = event
        matches, key = self._selector.matches, entry.key
        before = previous is not None and matches(key, previous, entry.previous)
        if entry.value is not None and matches(key, entry.value, entry.revision):
            return MODIFIED if before else ADDED
        return DELETED if before else ""

    def _bookmark(self, revision: int, annotations: Object | None = None) -> Frame:
        """Tells that everything up to a revision was told."""
        metadata: Object = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._resource
        tree = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return event_frame(BOOKMARK, self._form.bookmark(tree))

    # What is watched

    async def _check_begun(self, revision: int) -> None:
        """A custom resource has no past before its definition: what lies there was of another one."""
        if self._resource.crd is None:
            return
        item = await self._services.store.get(DEFINITIONS + self._resource.crd.name)
        if item is not None and revision < item.created:
            raise TooLate(revision, item.created)

    def _is_served(self) -> bool:
        """Whether there still is such a resource."""
        return self._current() is not None

    def _keep_up(self) -> bool:
        """Follows the resource where its definition has changed. False: it is gone."""
        if self._services.registry is not self._registry:
            self._registry = self._services.registry
            found = self._current()
            if found is None:
                return False
            if found is not self._resource:
                self._follow(found)
        return True

    def _current(self) -> Resource | None:
        old = self._resource
        return self._services.registry.resource(old.group, old.version, old.resource)
