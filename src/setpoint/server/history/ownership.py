"""One watch over all kinds, for who minds ownership: the garbage collector.

    GET /apis/setpoint.dev/v1/ownership?watch=true[&sendInitialEvents=true][&resourceVersion=REVISION]

It tells of every object that has owners, or a finalizer by which its dependents go before it, when it comes or
changes; and of every object that goes. Each is told with its apiVersion, its kind and the part of its metadata that
matters here, in the order of the log. With `sendInitialEvents` it begins with what is there. A bookmark says when
everything has been told that had happened when the request came; none comes after that.

Where the store has its objects at hand, an object that is there is told together with which of its owner references, by
their places, lead to an owner (`found`): nobody then has to ask for that owner. When it goes, that is told later.

A watch for each kind would cost a task and a connection each, and all of an object's metadata for each of its changes.
This one looks for a few words in the bytes that were written, and most of what is written ends there. The right to it
is the one to watch `ownership` in the group `setpoint.dev`.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from setpoint.objects.errors import BadRequest
from setpoint.objects.gotext import parse_uint
from setpoint.objects.gvk import GroupVersionKind
from setpoint.server.codec.negotiation import JSON
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.registry.registry import Registry
from setpoint.server.request.context import Context, Services
from setpoint.server.verbs.read_fast_path import AtHand
from setpoint.server.watch import freshness
from setpoint.server.watch.frames import ADDED, BOOKMARK, DELETED, ERROR, event_frame, event_line, kind_of
from setpoint.store.contract import Closed, Event, TooLate, Watch

RESOURCE = "ownership"
# What an object has in its bytes if it matters here. Where the words are there by chance, no harm is done.
_WORDS = (b'"ownerReferences"', b'"foregroundDeletion"', b'"orphan"')
# Nobody owns these, and there are many.
_EVENTS = "/core/events/"
_PAGE = 250
# How many owners of an object are looked for before others run.
_OWNERS = 256

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


class _Told(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    metadata: _Metadata
    found: list[int] = []


_decode = msgspec.json.Decoder(_Object).decode


async def ownership(context: Context) -> Response:
    """Answers with the watch."""
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
    return Response(200, JSON, _Stream(services, after or now, now, initial=initial))


class _Stream:
    """One such watch."""

    def __init__(self, services: Services, after: int, now: int, *, initial: bool) -> None:
        self._services = services
        self._at_hand = services.store if isinstance(services.store, AtHand) else None
        self._after = after
        # What had happened when the request came.
        self._now = now
        self._initial = initial

    async def run(self, sink: Sink) -> None:
        if self._initial:
            self._after = self._now
        watch = self._services.store.watch("/", self._after)
        minder = asyncio.create_task(_end_with(sink, watch))
        try:
            if self._initial:
                await self._send_all(sink)
            await self._follow(sink, watch)
        except TooLate as late:
            sink.write(event_frame(ERROR, _encode(freshness.too_old(late.revision, late.oldest).to_status())))
        except Closed:
            return
        finally:
            minder.cancel()
            watch.close()

    async def _send_all(self, sink: Sink) -> None:
        """Sends what was there when the request came."""
        store, last = self._services.store, ""
        while True:
            page = await store.range("/", last, _PAGE, self._now)
            lines = [
                event_line(ADDED, _encode(found))
                for item in page.items
                if _matters(item.key, item.value) and (found := await self._told(item.key, item.value, item.revision))
            ]
            if lines:
                sink.write(Frame(b"".join(lines)))
                if not await sink.drain():
                    return
            if not page.remaining:
                break
            last = page.items[-1].key
            await asyncio.sleep(0)  # a store in memory never waits: others have their turns between the pages
        sink.write(_bookmark(self._now))

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
        """An event, if it matters."""
        entry, previous = event
        if entry.value is None:
            if previous is None or entry.key.startswith(_EVENTS):
                return b""
            found = self._object(entry.key, previous, entry.revision)
            return event_line(DELETED, _encode(found)) if found else b""
        if not _matters(entry.key, entry.value) and not (previous is not None and _matters(entry.key, previous)):
            return b""
        told = await self._told(entry.key, entry.value, entry.revision)
        return event_line(kind_of(entry), _encode(told)) if told else b""

    async def _told(self, key: str, value: bytes, revision: int) -> _Told | None:
        """Returns an object that is there, and which of its owners are. Where there are very many, others run
        meanwhile."""
        found = self._object(key, value, revision)
        if found is None:
            return None
        namespace, owners = found.metadata.namespace, found.metadata.owner_references or ()
        # The uid of what is at a place. Many references may name the same place: it is looked at once.
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
        return _Told(found.api_version, found.kind, found.metadata, there)

    def _uid_of(self, owner: _Owner, namespace: str) -> str | None:
        """The uid of the object that is where an owner of an object in a namespace should be, if that is at hand."""
        if self._at_hand is None:
            return None
        group, _, version = owner.api_version.rpartition("/")
        resource = self._services.registry.kinds.get(GroupVersionKind(group, version, owner.kind))
        if resource is None:
            return None
        item = self._at_hand.peek(resource.storage.key(namespace, owner.name))
        found = None if item is None else self._object(item.key, item.value, item.revision)
        return None if found is None else found.metadata.uid

    def _object(self, key: str, value: bytes, revision: int) -> _Object | None:
        try:
            found = _decode(value)
        except msgspec.DecodeError:
            return None
        found.metadata.resource_version = str(revision)
        served = _served(self._services.registry).get(key[: key.find("/", key.find("/", 1) + 1) + 1])
        if served is not None:
            found.api_version = served
        return found


def _matters(key: str, value: bytes) -> bool:
    return any(word in value for word in _WORDS) and not key.startswith(_EVENTS)


def _served(registry: Registry) -> Mapping[str, str]:
    """The version to ask for the objects below each prefix: the one they are stored in, if it is served."""
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
    """Ends the watch when its client goes."""
    await sink.wait_closed()
    watch.close()
