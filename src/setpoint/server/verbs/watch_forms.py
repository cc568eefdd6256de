"""The forms of the events of a watch: whole objects, their metadata, or rows of a table; JSON or protobuf."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial as bound
from typing import Protocol

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.codec import table
from setpoint.server.codec.negotiation import JSON, PARTIAL, PROTOBUF, TABLE, Accepted
from setpoint.server.codec.partial_metadata import partial, partial_tree
from setpoint.server.codec.protobuf.watch_event import watch_event
from setpoint.server.codec.protobuf_form import PROTOBUF_FACTOR, ProtobufForm, encoded_status
from setpoint.server.offload import LEAST
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.watch.fanout import Prepare
from setpoint.server.watch.frames import ADDED, BOOKMARK, DELETED, ERROR, event_line, kind_of
from setpoint.store.contract import Event, Item

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class Form(Protocol):
    """The form of the events of one watch."""

    @property
    def name(self) -> str:
        """The name under which watches of this form share their frames; empty if they do not share."""

    @property
    def prepare(self) -> Prepare | None:
        """Makes the frames of large objects in a thread, if writing them takes long."""

    def item(self, item: Item) -> bytes:
        """Returns the initial event of a stored object."""

    def event(self, kind: str, event: Event) -> bytes:
        """Returns an event of the log; `kind` is its type for this watch."""

    def bookmark(self, tree: Object) -> bytes:
        """Returns a bookmark, given as an object with metadata only."""

    def error(self, status: Object) -> bytes:
        """Returns the event of an error, which ends a watch."""


class ObjectForm:
    """Whole objects as JSON."""

    name = "object"
    prepare = None

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def item(self, item: Item) -> bytes:
        return event_line(ADDED, self._resource.render(item.value, item.revision))

    def event(self, kind: str, event: Event) -> bytes:
        return event_line(kind, _rendered(self._resource, kind, event))

    def bookmark(self, tree: Object) -> bytes:
        return event_line(BOOKMARK, _encode(tree))

    def error(self, status: Object) -> bytes:
        return event_line(ERROR, _encode(status))


def _rendered(resource: Resource, kind: str, event: Event) -> bytes:
    """Returns the JSON of the object of an event."""
    entry, previous = event
    if kind != DELETED and entry.value is not None:
        return resource.render(entry.value, entry.revision)
    # A deleted or no longer matching object is shown in its last state, with the revision of this event.
    return resource.render_replaced(previous or b"", entry.previous, entry.revision)


class ReshapedForm(ObjectForm, ABC):
    """Objects as JSON in a shape of their own: only their metadata, or rows of tables."""

    def item(self, item: Item) -> bytes:
        return event_line(ADDED, self._shown(self._resource.render(item.value, item.revision)))

    def event(self, kind: str, event: Event) -> bytes:
        return event_line(kind, self._shown(_rendered(self._resource, kind, event)))

    @abstractmethod
    def _shown(self, body: bytes) -> bytes:
        """Returns an object, given as final JSON, in this form."""


class PartialForm(ReshapedForm):
    """Only the metadata of objects."""

    def __init__(self, resource: Resource, api_version: str) -> None:
        super().__init__(resource)
        self.name = f"metadata {api_version}"
        self._api_version = api_version

    def bookmark(self, tree: Object) -> bytes:
        return super().bookmark(partial_tree(self._resource, tree, self._api_version))

    def _shown(self, body: bytes) -> bytes:
        return partial(self._resource, body, self._api_version)


class TableForm(ReshapedForm):
    """Tables of one row. Only the first table of a watch has column definitions; rows contain ages, so frames are not
    shared."""

    name = ""

    def __init__(self, context: Context, resource: Resource, api_version: str) -> None:
        super().__init__(resource)
        self._maker = table.TableMaker(resource, api_version, table.included(context))
        self._clock = context.services.clock
        self._headers = True

    def bookmark(self, tree: Object) -> bytes:
        return super().bookmark(self._maker.of_bookmark(tree, self._clock.now(), headers=self._consume_headers()))

    def _shown(self, body: bytes) -> bytes:
        return _encode(self._maker.of_object(_decode(body), self._clock.now(), headers=self._consume_headers()))

    def _consume_headers(self) -> bool:
        first, self._headers = self._headers, False
        return first


class MessageForm:
    """Whole objects or their metadata as protobuf."""

    def __init__(self, context: Context, resource: Resource, accepted: Accepted, form: ProtobufForm) -> None:
        self.name = f"protobuf {accepted.form} {accepted.version}"
        self._resource = resource
        self._form = form
        self._offload = context.services.offload

    async def prepare(self, events: Sequence[Event]) -> None:
        for event in events:
            entry, previous = event
            if len(entry.value or previous or b"") * PROTOBUF_FACTOR >= LEAST:
                kind = kind_of(entry)
                try:
                    made = await self._offload.run("", bound(self.event, kind, event))
                except Exception:  # the watches that need the frame report the failure
                    continue
                self._resource.changes.frame(self.name, kind, event, bound(_made, made))

    def item(self, item: Item) -> bytes:
        return watch_event(ADDED, self._form.stored_object(item))

    def event(self, kind: str, event: Event) -> bytes:
        entry = event.entry
        if kind != DELETED and entry.value is not None:
            item = Item(entry.key, entry.value, entry.revision, 0)
            return watch_event(kind, self._form.stored_object(item))
        return watch_event(kind, self._form.object(_rendered(self._resource, kind, event)))

    def bookmark(self, tree: Object) -> bytes:
        return watch_event(BOOKMARK, self._form.object(_encode(tree)))

    def error(self, status: Object) -> bytes:
        return watch_event(ERROR, encoded_status(status))


def _made(frame: bytes, kind: str, event: Event) -> bytes:
    return frame


async def form_of(context: Context, resource: Resource, accepted: Accepted) -> Form:
    """Returns the form that a client accepts."""
    if accepted.media_type == PROTOBUF:
        return MessageForm(context, resource, accepted, await ProtobufForm.of(context, resource, accepted))
    if accepted.form == TABLE:
        return TableForm(context, resource, accepted.api_version)
    if accepted.form == PARTIAL:
        return PartialForm(resource, accepted.api_version)
    return ObjectForm(resource)


def stream_type(accepted: Accepted) -> str:
    """Returns the media type of a watch in a form."""
    return f"{PROTOBUF};stream=watch" if accepted.media_type == PROTOBUF else JSON
