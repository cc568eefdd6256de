"""The forms of the events of a watch: whole objects, their metadata, or rows of a table."""

from typing import Protocol

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.codec import table
from setpoint.server.codec.negotiation import PARTIAL, TABLE, Accepted
from setpoint.server.codec.partial_metadata import partial, partial_tree
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.watch.frames import DELETED
from setpoint.store.contract import Event, Item

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


class Form(Protocol):
    """The form of the objects of one watch."""

    @property
    def name(self) -> str:
        """The name under which watches of this form share their frames; empty if they do not share."""

    def item(self, item: Item) -> bytes:
        """Returns a stored object in the form of an initial event."""

    def event(self, kind: str, event: Event) -> bytes:
        """Returns the object of an event, whose type for this watch is `kind`."""

    def bookmark(self, tree: Object) -> bytes:
        """Returns a bookmark, given as an object with metadata only."""


class WholeForm:
    """Whole objects."""

    name = "object"

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def item(self, item: Item) -> bytes:
        return self._resource.render(item.value, item.revision)

    def event(self, kind: str, event: Event) -> bytes:
        entry, previous = event
        if kind != DELETED and entry.value is not None:
            return self._resource.render(entry.value, entry.revision)
        # A deleted or no longer matching object is shown in its last state, with the revision of this event.
        return self._resource.render_replaced(previous or b"", entry.previous, entry.revision)

    def bookmark(self, tree: Object) -> bytes:
        return _encode(tree)


class PartialForm(WholeForm):
    """Only the metadata of objects."""

    def __init__(self, resource: Resource, api_version: str) -> None:
        super().__init__(resource)
        self.name = f"metadata {api_version}"
        self._api_version = api_version

    def item(self, item: Item) -> bytes:
        return partial(self._resource, super().item(item), self._api_version)

    def event(self, kind: str, event: Event) -> bytes:
        return partial(self._resource, super().event(kind, event), self._api_version)

    def bookmark(self, tree: Object) -> bytes:
        return _encode(partial_tree(self._resource, tree, self._api_version))


class TableForm(WholeForm):
    """Tables of one row. Only the first table of a watch has column definitions; rows contain ages, so frames are not
    shared."""

    name = ""

    def __init__(self, context: Context, resource: Resource, api_version: str) -> None:
        super().__init__(resource)
        self._maker = table.TableMaker(resource, api_version, table.included(context))
        self._clock = context.services.clock
        self._headers = True

    def item(self, item: Item) -> bytes:
        return self._row(super().item(item))

    def event(self, kind: str, event: Event) -> bytes:
        return self._row(super().event(kind, event))

    def _row(self, body: bytes) -> bytes:
        return _encode(self._maker.of_object(_decode(body), self._clock.now(), headers=self._take_headers()))

    def bookmark(self, tree: Object) -> bytes:
        return _encode(self._maker.of_bookmark(tree, self._clock.now(), headers=self._take_headers()))

    def _take_headers(self) -> bool:
        first, self._headers = self._headers, False
        return first


def form_of(context: Context, resource: Resource, accepted: Accepted) -> Form:
    """Returns the form that a client accepts."""
    if accepted.form == TABLE:
        return TableForm(context, resource, accepted.api_version)
    if accepted.form == PARTIAL:
        return PartialForm(resource, accepted.api_version)
    return WholeForm(resource)
