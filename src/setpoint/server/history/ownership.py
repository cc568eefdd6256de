"""One watch over all kinds for the garbage collector, which tracks ownership.

    GET /apis/setpoint.dev/v1/ownership?watch=true[&sendInitialEvents=true][&resourceVersion=REVISION][&ownerUID=UID]…

The watch reports the creation and change of every object that has owners, or a finalizer for the deletion of
dependents; and the deletion of every object. Each event has the object's apiVersion, its kind and the relevant part of
its metadata, in the order of the log. With `sendInitialEvents` the watch begins with the existing objects. A single
bookmark marks the point at which all changes before the request have been sent.

With `ownerUID`, the watch reports only the direct and indirect dependents of these owners. An index by owner finds the
existing ones, so that the cost depends on their number, and not on that of all objects.

If the store holds its objects in memory, an event also lists in `found` the indexes of the owner references whose owner
exists, so that the client need not request these owners. The deletion of an owner is reported later.

A watch per kind would cost a task and a connection each, and transfer all metadata of every changed object. This watch
searches for a few words in the written bytes, and skips most writes. Access requires the verb watch on `ownership` in
the group `setpoint.dev`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.gotext import parse_uint
from setpoint.objects.gvk import GroupVersionKind
from setpoint.server.codec.negotiation import JSON
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.registry.registry import Registry
from setpoint.server.request.context import Context, Services
from setpoint.server.verbs.read_fast_path import PeekableStore
from setpoint.server.watch import freshness
from setpoint.server.watch.frames import ADDED, BOOKMARK, DELETED, ERROR, event_frame, event_line, kind_of
from setpoint.store.cached import Range, Term, Wanted
from setpoint.store.cached.collection import collection_of
from setpoint.store.contract import Closed, Event, Item, TooLate, Watch
from setpoint.store.uncounted import uncounted_page

RESOURCE = "ownership"
# The bytes of a relevant object contain one of these words. An accidental match does no harm.
_WORDS = (b'"ownerReferences"', b'"foregroundDeletion"', b'"orphan"')
# Events have no owners, and there are many.
_EVENTS = "/core/events/"
_PAGE = 250
# The number of owners of an object that are looked up before other tasks run.
_OWNERS = 256
# The number of owners of one request.
_MOST_OWNERS = 100

_encode = msgspec.json.Encoder().encode


class _Owner(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Owner] | None = None
    resource_version: str = ""


class _Object(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    metadata: _Metadata


class _OwnedObject(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    metadata: _Metadata
    found: list[int] = []


_decode = msgspec.json.Decoder(_Object).decode


async def ownership(context: Context) -> Response:
    """Returns the response with the watch."""
    text = context.parameter("resourceVersion")
    try:
        after = parse_uint(text) if text else 0
    except ValueError as error:
        raise BadRequest(f"resourceVersion must be a number: {error}") from None
    services = context.services
    now = await freshness.wait_for(services.store, services.clock, after)
    if after and after < now and not await services.history_window.contains(after):
        raise freshness.too_old(after, now)
    initial = context.parameter("sendInitialEvents") == "true"
    owners = set(context.query.get("ownerUID", ()))
    if len(owners) > _MOST_OWNERS:
        raise BadRequest(f"ownerUID: {len(owners)} values are too many: at most {_MOST_OWNERS} in one request")
    return Response(200, JSON, _Stream(services, after or now, now, context.user.name, owners, initial=initial))


class _Stream:
    """One watch of ownership."""

    def __init__(self, services: Services, after: int, now: int, user: str, owners: set[str], *, initial: bool) -> None:
        self._services = services
        self._user = user
        # The owners whose dependents are reported, and these dependents; all objects are reported if empty.
        self._owners = owners
        self._local_store = services.store if isinstance(services.store, PeekableStore) else None
        self._after = after
        # The revision at the time of the request.
        self._now = now
        self._initial = initial

    async def run(self, sink: Sink) -> None:
        try:
            existing = await self._dependents() if self._initial and self._owners else None
            await self._send(sink, existing)
        except TooLate as late:
            sink.write(event_frame(ERROR, _encode(freshness.too_old(late.revision, late.oldest).to_status())))
        except Closed:
            return

    async def _send(self, sink: Sink, existing: Sequence[Item] | None) -> None:
        """Sends the existing objects, all if None, and then the changes."""
        watch = self._services.store.watch("/", self._now if self._initial else self._after)
        minder = asyncio.create_task(_end_with(sink, watch))
        try:
            if self._initial:
                await (self._send_all(sink) if existing is None else self._send_existing(sink, existing))
                sink.write(_bookmark(self._now))
            await self._follow(sink, watch)
        finally:
            minder.cancel()
            watch.close()

    async def _dependents(self) -> Sequence[Item]:
        """Returns the existing dependents of the owners."""
        found = await self._indexed_dependents()
        return await self._read_dependents() if found is None else found

    async def _send_all(self, sink: Sink) -> None:
        """Sends the objects that existed at the time of the request."""
        store, last = self._services.store, ""
        while True:
            page = await uncounted_page(store, "/", last, _PAGE, self._now)
            if not await self._send_existing(sink, page.items):
                return
            if not page.remaining:
                break
            last = page.items[-1].key
            await asyncio.sleep(0)  # a store in memory never waits: this lets other tasks run between pages

    async def _indexed_dependents(self) -> Sequence[Item] | None:
        """Returns the dependents of the owners from an index, and sets the revision of the watch to theirs. Returns
        None if there is no index."""
        indexes = self._services.term_indexes
        if indexes is None:
            return None
        prefixes = {resource.storage.prefix: None for resource in self._services.registry.whole}
        prefixes.pop(_EVENTS, None)
        at: int | None = None

        async def children(uid: str) -> Sequence[Item] | None:
            nonlocal at
            within = Range("/", at=at, collections=list(prefixes))
            found = await indexes.select(self._user, [Wanted(_OWNER_TERM, uid)], within)
            # If other servers write to the store, the index may be behind the request.
            if found is None or found.revision < self._now:
                return None
            at = found.revision
            return found.items

        found = await self._descendants(children)
        if found is not None and at is not None:
            self._now = at
        return found

    async def _read_dependents(self) -> Sequence[Item]:
        """Returns the dependents of the owners, found in all objects."""
        store, last = self._services.store, ""
        keys: dict[str, list[str]] = {}
        remaining = 1
        while remaining:
            items, _, remaining = await uncounted_page(store, "/", last, _PAGE, self._now)
            for item in items:
                for uid in () if item.key.startswith(_EVENTS) else _owner_uids(item.value):
                    keys.setdefault(uid, []).append(item.key)
            last = items[-1].key if items else last
            await asyncio.sleep(0)

        async def children(uid: str) -> Sequence[Item]:
            found = [await store.get(key, self._now) for key in keys.get(uid, ())]
            return [item for item in found if item is not None]

        return await self._descendants(children) or ()

    async def _descendants(self, children: Callable[[str], Awaitable[Sequence[Item] | None]]) -> list[Item] | None:
        """Returns the direct and indirect dependents of the owners, each after one of its owners. Returns None if the
        dependents of one object are not known."""
        waiting, seen = sorted(self._owners), set(self._owners)
        found: dict[str, Item] = {}
        for number, uid in enumerate(waiting):
            if number % _OWNERS == _OWNERS - 1:
                await asyncio.sleep(0)
            items = await children(uid)
            if items is None:
                return None
            for item in items:
                found.setdefault(item.key, item)
                if (child := _uid_of(item.value)) not in seen:
                    seen.add(child)
                    waiting.append(child)
        self._owners |= seen
        return list(found.values())

    async def _send_existing(self, sink: Sink, items: Sequence[Item]) -> bool:
        """Sends existing objects. Returns False if the client has disconnected."""
        for start in range(0, len(items), _PAGE):
            if start:
                await asyncio.sleep(0)
            lines = [
                event_line(ADDED, _encode(found))
                for item in items[start : start + _PAGE]
                if _matters(item.key, item.value)
                and (found := await self._owned_object(item.key, item.value, item.revision))
            ]
            if lines:
                sink.write(Frame(b"".join(lines)))
                if not await sink.drain():
                    return False
        return True

    def _concerns(self, value: bytes, previous: bytes | None = None) -> bool:
        """Returns True if an object has, or had, one of the owners. Its dependents are reported from then on."""
        if not self._owners:
            return True
        if all(self._owners.isdisjoint(_owner_uids(each)) for each in (value, previous) if each is not None):
            return False
        self._owners.add(_uid_of(value))
        return True

    async def _follow(self, sink: Sink, watch: Watch) -> None:
        has_caught_up = self._initial
        while not sink.closed:
            if not has_caught_up and watch.revision >= self._now:
                has_caught_up = sink.write(_bookmark(self._now))
            lines = [line for event in await watch.next() if (line := await self._line(event))]
            if lines:
                sink.write(Frame(b"".join(lines)))
                if not await sink.drain():
                    return

    async def _line(self, event: Event) -> bytes:
        """Returns the line of an event, or empty bytes if the event is not relevant."""
        entry, previous = event
        if entry.value is None:
            if previous is None or entry.key.startswith(_EVENTS) or not self._concerns(previous):
                return b""
            found = self._object(entry.key, previous, entry.revision)
            return event_line(DELETED, _encode(found)) if found else b""
        if not _matters(entry.key, entry.value) and not (previous is not None and _matters(entry.key, previous)):
            return b""
        if not self._concerns(entry.value, previous):
            return b""
        owned = await self._owned_object(entry.key, entry.value, entry.revision)
        return event_line(kind_of(entry), _encode(owned)) if owned else b""

    async def _owned_object(self, key: str, value: bytes, revision: int) -> _OwnedObject | None:
        """Returns an existing object, with the indexes of its existing owners. Lets other tasks run if there are very
        many."""
        found = self._object(key, value, revision)
        if found is None:
            return None
        namespace, owners = found.metadata.namespace, found.metadata.owner_references or ()
        # The uid of the object at a place. Several references may name the same place, which is read once.
        uids: dict[tuple[str, str, str], str | None] = {}
        there: list[int] = []
        for number, owner in enumerate(owners):
            if number % _OWNERS == _OWNERS - 1:
                await asyncio.sleep(0)
            at = owner.api_version, owner.kind, owner.name
            if at not in uids:
                uids[at] = self._uid_of(owner, namespace)
            if uids[at] == owner.uid:
                there.append(number)
        return _OwnedObject(found.api_version, found.kind, found.metadata, there)

    def _uid_of(self, owner: _Owner, namespace: str) -> str | None:
        """Returns the uid of the object at the place of an owner reference, if the store has the object in memory."""
        if self._local_store is None:
            return None
        group, _, version = owner.api_version.rpartition("/")
        resource = self._services.registry.kinds.get(GroupVersionKind(group, version, owner.kind))
        if resource is None:
            return None
        item = self._local_store.peek(resource.storage.key(namespace, owner.name))
        found = None if item is None else self._object(item.key, item.value, item.revision)
        return None if found is None else found.metadata.uid

    def _object(self, key: str, value: bytes, revision: int) -> _Object | None:
        try:
            found = _decode(value)
        except msgspec.DecodeError:
            return None
        found.metadata.resource_version = str(revision)
        served = _served(self._services.registry).get(collection_of(key))
        if served is not None:
            found.api_version = served
        return found


def _matters(key: str, value: bytes) -> bool:
    return any(word in value for word in _WORDS) and not key.startswith(_EVENTS)


def _uid_of(value: bytes) -> str:
    return _decode(value).metadata.uid


def _owner_uids(value: bytes) -> Sequence[str]:
    if _WORDS[0] not in value:
        return ()
    try:
        return [owner.uid for owner in _decode(value).metadata.owner_references or ()]
    except msgspec.DecodeError:
        return ()


_OWNER_TERM = Term("owner", lambda item: _owner_uids(item.value), lambda uids: uids)


def _served(registry: Registry) -> Mapping[str, str]:
    """Returns the version to request objects with, by prefix: their storage version, if served."""
    found: dict[str, str] | None = registry.documents.get(RESOURCE)
    if found is None:
        found = registry.documents[RESOURCE] = {}
        for resource in registry:
            prefix = resource.storage.prefix
            if resource.api_version == resource.storage.api_version or prefix not in found:
                found[prefix] = resource.api_version
    return found


def _bookmark(revision: int) -> Frame:
    return event_frame(BOOKMARK, b'{"metadata":{"resourceVersion":"%d"}}' % revision)


async def _end_with(sink: Sink, watch: Watch) -> None:
    """Ends the watch when the client disconnects."""
    await sink.wait_closed()
    watch.close()
