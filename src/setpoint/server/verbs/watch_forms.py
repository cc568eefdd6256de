"""The forms in which a watch tells its events: whole objects, their metadata, or rows of a table."""

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
    """How the objects of one watch are written."""

    @property
    def name(self) -> str:
        """The name under which watches of this form share their frames; empty: they do not."""

    def item(self, item: Item) -> bytes:
        """A stored object, as an initial event shows it."""

    def event(self, kind: str, event: Event) -> bytes:
        """The object of an event, which is of some type to this watch."""

    def bookmark(self, tree: Object) -> bytes:
        """A bookmark, given as the object it nearly is."""


class WholeForm:
    """Objects as they are."""

    name = "object"

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def item(self, item: Item) -> bytes:
        return self._resource.render(item.value, item.revision)

    def event(self, kind: str, event: Event) -> bytes:
        entry, previous = event
        if kind != DELETED and entry.value is not None:
            return self._resource.render(entry.value, entry.revision)
        # What is gone, or out of sight, is shown as it last was, at the revision at which it went.
        return self._resource.render_replaced(previous or b"", entry.previous, entry.revision)

    def bookmark(self, tree: Object) -> bytes:
        return _encode(tree)


class PartialForm(WholeForm):
    """The metadata of objects alone."""

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
    """Tables of one row. Only the first of a watch names its columns; rows tell ages, so each watch has its own."""

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
    """The form that a client accepts."""
    if accepted.form == TABLE:
        return TableForm(context, resource, accepted.api_version)
    if accepted.form == PARTIAL:
        return PartialForm(resource, accepted.api_version)
    return WholeForm(resource)
