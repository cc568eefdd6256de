"""Watches: the initial events if requested, and then every change, in the order of the log.

A watch is a position in the log, without a queue: while its client reads slowly, its position waits, and if the log is
compacted beyond that position the client receives a 410 error. Watches that have caught up with the log share one
fan-out, and each frame is made once for all watches that send that frame.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from setpoint.objects import fields
from setpoint.objects.errors import APIError, BadRequest, InternalError
from setpoint.objects.tree import Object
from setpoint.server.access.authorization.attributes import request_attributes
from setpoint.server.access.past_access import Past, past_of_watch
from setpoint.server.codec.negotiation import negotiate_stream
from setpoint.server.codec.protobuf_form import PROTOBUF_FACTOR
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.registry.conversion.pending import ConvertedObjects
from setpoint.server.registry.conversion.review import ConversionFailed
from setpoint.server.registry.kinds.apiextensions import PREFIX as DEFINITIONS
from setpoint.server.registry.resource import Resource
from setpoint.server.registry.selectors import NAME, ObjectSelector
from setpoint.server.request.context import Context
from setpoint.server.request.list_options import ListOptions, list_options
from setpoint.server.request.slices import COMPARED, TABLE_ROWS, indexed, ranged
from setpoint.server.verbs.watch_forms import Form, form_of, stream_type
from setpoint.server.watch import freshness
from setpoint.server.watch.fanout import Fanout, prepared
from setpoint.server.watch.frames import ADDED, DELETED, MODIFIED, kind_of
from setpoint.server.watch.starts import SHARED_BYTES, InitialEvents
from setpoint.store.cached import Range
from setpoint.store.contract import Closed, Event, Item, TooLate, Watch

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# Seconds: between two bookmarks; from the last check to the end; the minimum duration of a watch without a timeout.
BOOKMARK_INTERVAL = 60.0
_FAREWELL = 2.0
_LEAST_DURATION = 1800.0
# The number of bytes written before the watch waits for the client, and the size of a frame of initial events.
_BURST = 256 * 1024
_FRAME = 32 * 1024


async def watch(context: Context, resource: Resource) -> Response:
    options = await list_options(context, watch=True)
    if context.info.name:
        options = options._replace(field_selector=_named(options.field_selector, context.info.name))
    # Validates the request, and determines the start revision, before the stream begins.
    after = options.revision or await context.services.reads(options.resource_version).revision()
    accepted = negotiate_stream(context, resource)
    stream = WatchStream(context, resource, options, after, await form_of(context, resource, accepted))
    return Response(200, stream_type(accepted), stream)


def _named(selector: fields.Selector, name: str) -> fields.Selector:
    """Returns the selector of a watch of one object by name, a form that the oldest clients use."""
    if not selector.is_everything and selector.exact(NAME) != name:
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return fields.Selector((*selector.requirements, fields.Requirement(NAME, name)))


async def _converted(resource: Resource, events: Sequence[Event], *, selects: bool) -> ConvertedObjects:
    """Converts the objects of events in advance: the new objects, and the old ones if a selector or a deletion needs
    them. Raises ConversionFailed."""
    items: list[Item] = []
    for entry, previous in events:
        if entry.value is not None:
            items.append(Item(entry.key, entry.value, entry.revision, 0))
        if previous is not None and (entry.value is None or selects):
            items.append(Item(entry.key, previous, entry.previous, 0))
    return await resource.prepare(items)


class WatchStream:
    """One watch, from its first event to its end."""

    def __init__(self, context: Context, resource: Resource, options: ListOptions, after: int, form: Form) -> None:
        self._context = context
        self._services = context.services
        self._options = options
        # All events up to this revision have been written.
        self.reached = after
        self._sink: Sink
        # The source of events: the fan-out that is shared with other watches, or a cursor of its own until the watch
        # has caught up.
        self._fanout: Fanout | None = None
        self._cursor: Watch | None = None
        # True while the watch waits for the next events of its cursor, and if the log had not reached its start then.
        self._waits = self._is_ahead = False
        self._over = False
        # The number of bytes written since the watch last waited for the client.
        self._pending = 0
        # The uid of the watched namespace; empty for a watch of the whole cluster.
        self._namespace_uid = ""
        # The part of the past that the user may not read.
        self._past = Past()
        self._registry = context.registry.whole
        self._follow(resource, form)

    def _follow(self, resource: Resource, form: Form) -> None:
        """Watches a resource, or the resource that replaced the previous one."""
        options = self._options
        self._resource = resource
        self._selector = ObjectSelector(
            resource,
            self._context.info.namespace,
            options.label_selector,
            options.field_selector,
            resource.changes.labels,
        )
        self._selects = not self._selector.is_everything
        self._form = form

    async def run(self, sink: Sink) -> None:
        """Sends all events. Returns at the end of the watch."""
        self._sink = sink
        await self._note_namespace()
        self._services.watches.add(self)
        minders = (
            asyncio.create_task(self._send_bookmarks_until_timeout()),
            asyncio.create_task(self._end_with_client()),
        )
        try:
            if self._options.send_initial_events:
                await self._send_initial_events()
                if self._context.seat is not None:
                    self._context.seat.release()
            else:
                await self._check_begun()
            await self._send_changes()
        except ConversionFailed as error:
            self._fail(InternalError(error.message))
        except APIError as error:
            self._fail(error)
        except TooLate as late:
            self._fail(freshness.too_old(late.revision, late.oldest))
        except Closed:
            return
        finally:
            self._services.watches.discard(self)
            self._end()
            for minder in minders:
                minder.cancel()

    def _fail(self, error: APIError) -> None:
        self._sink.write(Frame(self._form.error(error.to_status())))

    def _end(self) -> None:
        self._over = True
        if self._cursor is not None:
            self._cursor.close()
        if self._fanout is not None:
            self._fanout.unsubscribe(self)

    # Background tasks

    async def _end_with_client(self) -> None:
        """Ends the watch when the client disconnects."""
        await self._sink.wait_closed()
        self._end()

    async def _send_bookmarks_until_timeout(self) -> None:
        """Sends bookmarks periodically, and ends the watch at its timeout or when the user loses access."""
        clock = self._services.clock
        end = clock.monotonic() + self._duration()
        while (left := end - clock.monotonic()) > 0:
            last = left <= _FAREWELL
            await clock.sleep(left if last else min(BOOKMARK_INTERVAL, left - _FAREWELL))
            if not last:
                self.send_bookmarks()
                await self._services.authorizer.prepare(self._context.user)
                if not self._is_allowed():
                    break
            if self._current() is None:
                break
        self._end()

    def send_bookmarks(self) -> None:
        if self._options.allow_bookmarks and (revision := self._progress()) is not None:
            self._write(Frame(self._bookmark(revision)))

    def _progress(self) -> int | None:
        """Returns the revision up to which all events have been sent; None if the watch is about to send events, or if
        the log has not reached its start."""
        if self._fanout is not None:
            return self._fanout.revision(self)
        if not self._waits or self._cursor is None:
            return None
        found = self._cursor.revision
        return None if self._is_ahead and found <= self.reached else found

    def _duration(self) -> float:
        """Returns the duration of the watch in seconds. A random part prevents watches from ending at the same time."""
        if self._options.timeout_seconds:
            return float(self._options.timeout_seconds)
        return _LEAST_DURATION * (1 + self._services.ids.random())

    # Sending

    async def _send_initial_events(self) -> None:
        """Sends an ADDED event for every existing object."""
        options, selector = self._options, self._selector
        # The start revision is the newest one at the time of the request: a state that is not older is consistent.
        store = self._services.any_age
        if options.revision:
            await freshness.wait_for(store, self._services.clock, options.revision)
        elif await store.revision() < self.reached:
            store = self._services.store  # the events of the store are late
        await self._services.starts.next()
        page = await indexed(self._context, store, selector.wanted, Range(selector.prefix))
        if page is None:
            page = await ranged(self._context, store, selector.prefix)
        is_shared = bool(self._form.name) and self._resource.fetch is None
        starts = self._resource.changes.starts
        # The form and the selectors determine the initial events at a revision.
        key = (
            self._form.name,
            selector.prefix,
            options.label_selector.requirements,
            options.field_selector.requirements,
        )
        known = starts.get(page.revision, key) if is_shared else None
        made = await self._encode_initial_events(page.items) if known is None else await self._send_again(known)
        if made is None:
            return
        if is_shared:
            starts.put(page.revision, key, made)
        lines = [made.rest] if made.rest else []
        if options.allow_bookmarks:
            lines.append(self._bookmark(page.revision, {INITIAL_EVENTS_END: "true"}))
            self._resource.changes.count(len(lines[-1]))
        if lines:
            await self._write_initial(Frame(b"".join(lines)))
        self.reached = page.revision

    async def _encode_initial_events(self, items: Sequence[Item]) -> InitialEvents | None:
        """Sends the complete frames of the initial events. Returns all of them if other watches can share them, and
        always the rest; None if the watch has ended."""
        selector = self._selector
        lines: list[bytes] = []
        frames: list[Frame] = []
        sizes: list[int] = []
        size = total = 0
        held = () if self._resource.fetch is None else await self._resource.prepare(selector.unread(items))
        step = COMPARED if self._form.name == "object" else TABLE_ROWS
        for place, item in enumerate(items):
            if place and place % step == 0:
                await self._context.pause()
                if self._over:
                    return None
            if self._selects and not selector.matches(item.key, item.value, item.revision):
                continue
            if self._form.prepare is None:
                line = self._form.item(item)
            else:
                weight = len(item.value) * PROTOBUF_FACTOR
                line = await self._services.offloaded(partial(self._form.item, item), weight)
            lines.append(line)
            self._resource.changes.count(len(line))
            sizes.append(len(line))
            size += len(line)
            if size > _FRAME:
                frame = Frame(b"".join(lines))
                total += size
                lines, size = [], 0
                if total <= SHARED_BYTES:
                    frames.append(frame)
                await self._write_initial(frame)
                if self._over:
                    return None
        del held
        return InitialEvents(frames, b"".join(lines), sizes)

    async def _send_again(self, known: InitialEvents) -> InitialEvents | None:
        """Sends the complete frames of the initial events of another watch. Returns None if the watch has ended."""
        for size in known.sizes:
            self._resource.changes.count(size)
        for frame in known.frames:
            await self._write_initial(frame)
            if self._over:
                return None
        return known

    async def _write_initial(self, frame: Frame) -> None:
        """Writes several events in one frame, because the cost per frame at the edge is higher than that of its
        content."""
        self._services.starts.sent(len(frame.payload))
        self._write(frame)
        if self._pending > _BURST:
            await self._drain()

    async def _send_changes(self) -> None:
        """Sends changes until the watch ends."""
        store = self._services.store
        while not self._over:
            prefix = self._selector.prefix
            current = await self._services.any_age.revision()
            if self._over:
                return
            # A watch from a future revision, or from one that this server does not know yet, follows the log alone.
            self._is_ahead = self.reached > current
            subscription = None if self._is_ahead else self._subscribe(prefix)
            if subscription is not None:
                await subscription
                self._fanout = None
            else:
                if self._cursor is None:
                    self._cursor = store.watch(prefix, self.reached)
                self._waits = True
                events = await self._cursor.next()
                self._waits = False
                if self._resource.fetch is None:
                    if self._form.prepare is not None:
                        await self._form.prepare(events)
                    self.notify(events)
                else:
                    prepare = partial(_converted, self._resource, selects=self._selects)
                    async for part in prepared(prepare, events):
                        self.notify(part)
            if not await self._keep_up():
                return
            if self._pending > _BURST:
                await self._drain()

    def _subscribe(self, prefix: str) -> "asyncio.Future[None] | None":
        """Subscribes to the shared fan-out, unless the watch is behind."""
        converts = self._resource.fetch is not None
        if converts and self._selects:
            # This watch needs more of each event than the others.
            return None
        prepare = partial(_converted, self._resource, selects=False) if converts else None
        fanout = self._resource.fanouts.of(self._services.store, prefix, self.reached, prepare)
        subscription = fanout.subscribe(self)
        if subscription is not None:
            if self._form.prepare is not None:
                fanout.preparing[self._form.name] = self._form.prepare
            self._fanout, self._cursor = fanout, None
        return subscription

    def notify(self, events: Sequence[Event]) -> bool:
        """Sends events. Returns False if the client needs time to read, or if the registry has changed. Raises TooLate
        for events of a past that the user may not read."""
        if self._namespace_uid and not self._is_still_authorized():
            self._over = True
            return False
        changes, form, reached = self._resource.changes, self._form, self.reached
        frames: list[Frame] = []
        size = 0
        for event in events:
            entry = event.entry
            if entry.revision <= reached:
                continue
            if entry.revision <= self._past.until and entry.time < self._past.since:
                raise TooLate(reached, self._past.until)
            kind = self._kind(event) if self._selects else kind_of(entry)
            if not kind:
                continue
            if form.name:
                frame_bytes = changes.frame(form.name, kind, event, form.event)
            else:
                frame_bytes = Frame(form.event(kind, event))
            size += len(frame_bytes.payload)
            if size > _FRAME:
                self._write_frames(frames)
                frames, size = [], len(frame_bytes.payload)
            frames.append(frame_bytes)
            changes.count(len(frame_bytes.payload))
        self._write_frames(frames)
        self.reached = max(reached, events[-1].entry.revision)
        return not self._over and self._pending <= _BURST and self._services.registry is self._registry

    def _write_frames(self, frames: Sequence[Frame]) -> None:
        """Writes frames, joined into one: copying small frames takes less time than writing each."""
        if len(frames) == 1:
            self._write(frames[0])
        elif frames:
            self._write(Frame(b"".join([frame.payload for frame in frames])))

    def _write(self, frame: Frame) -> None:
        if not self._over and self._sink.write(frame):
            self._pending += len(frame.payload)
        else:
            self._over = True

    async def _drain(self) -> None:
        self._pending = 0
        if not await self._sink.drain():
            self._over = True

    def _kind(self, event: Event) -> str:
        """Returns the type of an event for a watch with selectors: an object that begins to match is ADDED, and one
        that ceases to match is DELETED. Empty if the event is not sent."""
        entry, previous = event
        matches, key = self._selector.matches, entry.key
        before = previous is not None and matches(key, previous, entry.previous)
        if entry.value is not None and matches(key, entry.value, entry.revision):
            return MODIFIED if before else ADDED
        return DELETED if before else ""

    def _bookmark(self, revision: int, annotations: Object | None = None) -> bytes:
        """Returns a bookmark: all events up to the revision have been sent."""
        metadata: Object = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._resource
        tree = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if not resource.is_custom:
            # As on kube-apiserver, the other fields of a built-in kind have their zero values.
            tree = resource.shape.empty() | tree
            resource.strategy.complete_bookmark(tree)
        return self._form.bookmark(tree)

    # The watched resource and namespace

    async def _note_namespace(self) -> None:
        """Records the uid of the watched namespace."""
        if self._context.info.namespace:
            await self._services.namespaces.current()
            self._namespace_uid = self._current_namespace_uid()

    def _current_namespace_uid(self) -> str:
        """Returns the uid of the current namespace; empty if the namespace does not exist."""
        namespace = self._services.namespaces
        found = namespace.peek(namespace.prefix + self._context.info.namespace)
        return "" if found is None else str(found["metadata"]["uid"])

    def _is_still_authorized(self) -> bool:
        """Returns True if the user may watch the namespace. If the namespace was deleted and created again, access is
        checked again, because rights in the old namespace do not apply to the new one."""
        uid = self._current_namespace_uid()
        if uid in ("", self._namespace_uid):
            return True
        self._namespace_uid = uid
        return self._is_allowed()

    def _is_allowed(self) -> bool:
        """Returns True if the user is still authorized for this watch."""
        context = self._context
        return self._services.authorizer.decide(context.user, request_attributes(context)).allowed

    async def _check_begun(self) -> None:
        """Checks that the start of the watch is allowed: not too old and, for a custom resource, not before the
        creation of its definition, because earlier objects belonged to another definition. Raises TooLate."""
        self._past = await past_of_watch(self._context, self._resource, self.reached)
        if self._resource.crd is None:
            return
        item = await self._services.store.get(DEFINITIONS + self._resource.crd.name)
        if item is not None and self.reached < item.created:
            raise TooLate(self.reached, item.created)

    async def _keep_up(self) -> bool:
        """Continues with the new resource if its definition has changed. Returns False if the resource is no longer
        served."""
        if self._services.registry is not self._registry:
            self._registry = self._services.registry
            found = self._current()
            if found is None:
                return False
            if found is not self._resource:
                accepted = negotiate_stream(self._context, found)
                self._follow(found, await form_of(self._context, found, accepted))
        return True

    def _current(self) -> Resource | None:
        """Returns the currently served version of the resource, or None."""
        old = self._resource
        return self._services.registry.resource(old.group, old.version, old.resource)
