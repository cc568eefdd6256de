"""The text of lists in pieces: the text around the objects, and the objects in slices.

The concatenated pieces are the same bytes as the list encoded at once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from setpoint.objects.tree import Object
from setpoint.server.codec import table
from setpoint.server.codec.negotiation import PARTIAL_LIST, TABLE, Accepted
from setpoint.server.codec.partial_metadata import partial
from setpoint.server.codec.protobuf.kind_writer import KindWriter, length
from setpoint.server.codec.protobuf_form import PROTOBUF_FACTOR, ProtobufForm, list_writer
from setpoint.server.offload import YAML_FACTOR
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.slices import TABLE_ROWS
from setpoint.store.contract import Item

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode
_INDENT = 2
# The number of objects and bytes in one slice: as stored; decoded; converted from another version.
_STORED, _STORED_BYTES = 512, 128 << 10
_APART, _APART_BYTES = 64, 64 << 10
_CONVERTED_BYTES = 32 << 10


class Listing(NamedTuple):
    """A list in one form: its JSON without objects, the field that holds them, the function that returns their JSON,
    and the number of objects and bytes in a slice."""

    empty: bytes
    field: str
    render: Callable[[Sequence[Item]], list[bytes]]
    objects: int
    size: int


def listing(context: Context, resource: Resource, accepted: Accepted, metadata: Object) -> Listing:
    """Returns the list in the form that the client accepts; `metadata` is the metadata of the list."""
    if accepted.form == TABLE:
        maker = table.TableMaker(resource, accepted.api_version, table.included(context))
        now = context.services.clock.now()

        def rows(items: Sequence[Item]) -> list[bytes]:
            return [_encode(maker.row(_tree(resource, item), now)) for item in items]

        return Listing(_encode(maker.table((), metadata, now)), "rows", rows, TABLE_ROWS, _CONVERTED_BYTES)
    if accepted.form == PARTIAL_LIST:
        version = accepted.api_version
        tree = {"kind": "PartialObjectMetadataList", "apiVersion": version, "metadata": metadata, "items": ()}

        def partials(items: Sequence[Item]) -> list[bytes]:
            return [partial(resource, resource.render(item.value, item.revision), version) for item in items]

        return Listing(_encode(tree), "items", partials, _APART, _APART_BYTES)
    kind, version = resource.list_kind, resource.api_version
    if resource.is_custom:
        # The lists of custom resources have sorted fields, and always include the field `continue`.
        shown = {"continue": "", **metadata}
        empty = _encode_sorted({"apiVersion": version, "items": (), "kind": kind, "metadata": shown})
        # Objects of an older version are decoded and converted.
        return Listing(empty, "items", resource.render_list_items, _APART, _APART_BYTES)
    tree = {"kind": kind, "apiVersion": version, "metadata": metadata, "items": ()}
    return Listing(_encode(tree), "items", resource.render_list_items, _STORED, _STORED_BYTES)


def _tree(resource: Resource, item: Item) -> Object:
    tree = resource.item(item)
    if not item.revision:
        del tree["metadata"]["resourceVersion"]  # the object is not stored
    return tree


async def protobuf_listing(
    context: Context, resource: Resource, accepted: Accepted, metadata: Object
) -> "tuple[Listing, ProtobufText]":
    """Returns the list as protobuf. Each revision of an object is converted once."""
    form = await ProtobufForm.of(context, resource, accepted)
    writer = await list_writer(context, resource, accepted)

    def messages(items: Sequence[Item]) -> list[bytes]:
        return [form.stored(item) for item in items]

    empty = writer.message(_encode({"metadata": metadata}))
    made = Listing(empty, "items", messages, _APART, _CONVERTED_BYTES)
    return made, ProtobufText(made, writer)


class ListText(Protocol):
    """The text of a list in one format."""

    # The number of objects, and of bytes, in a slice.
    objects: int
    size: int
    # The time to write a byte, relative to JSON.
    factor: int

    def part(self, rendered: list[bytes], *, is_first: bool) -> bytes:
        """Returns the text of objects, either the first ones or later ones."""

    def complete(self, pieces: list[bytes]) -> list[bytes]:
        """Returns the complete list as pieces."""


class JsonText:
    """A list on one line."""

    factor = 1

    def __init__(self, made: Listing) -> None:
        self.objects, self.size = made.objects, made.size
        self._empty = made.empty
        before, self._opening, self._after = made.empty.rpartition(b'"%b":[' % made.field.encode())
        self._before = before + self._opening

    def part(self, rendered: list[bytes], *, is_first: bool) -> bytes:
        if is_first:
            # The first piece may be large: its parts are joined once, without a further copy.
            rendered[0] = self._before + rendered[0]
            return b",".join(rendered)
        return b",".join([b"", *rendered])

    def complete(self, pieces: list[bytes]) -> list[bytes]:
        if not pieces:
            return [self._empty + b"\n"]
        pieces[-1] += self._after + b"\n"
        return pieces


class PrettyText:
    """A list with indents, for human readers."""

    factor = 1

    def __init__(self, made: Listing) -> None:
        self.objects, self.size = min(made.objects, _APART), min(made.size, _APART_BYTES)
        self._empty = msgspec.json.format(made.empty, indent=_INDENT)
        field = made.field.encode()
        self._opening = b'{"%b":[' % field
        self._start = len(b'{\n  "%b": [' % field)
        before, found, self._after = self._empty.rpartition(b'"%b": []' % field)
        self._before = before + found[:-1]

    def part(self, rendered: list[bytes], *, is_first: bool) -> bytes:
        text = msgspec.json.format(self._opening + b",".join(rendered) + b"]}", indent=_INDENT)
        inner = text[self._start : -len(b"\n  ]\n}")]
        return self._before + inner if is_first else b"," + inner

    def complete(self, pieces: list[bytes]) -> list[bytes]:
        if not pieces:
            return [self._empty]
        pieces[-1] += b"\n  ]" + self._after
        return pieces


class ProtobufText:
    """A list as protobuf: the message of the list without objects, and each object as a field."""

    factor = PROTOBUF_FACTOR

    def __init__(self, made: Listing, writer: KindWriter) -> None:
        self.objects, self.size = made.objects, made.size
        self._empty = made.empty
        self._writer = writer
        self._tag = writer.item_tag

    def part(self, rendered: list[bytes], *, is_first: bool) -> bytes:
        tag = self._tag
        found = [self._empty] if is_first and not self._writer.has_items_first else []
        for message in rendered:
            found += tag, length(len(message)), message
        return b"".join(found)

    def complete(self, pieces: list[bytes]) -> list[bytes]:
        if not pieces:
            return [self._writer.enclosed(self._empty)]
        if self._writer.has_items_first:
            pieces[-1] += self._empty
        return [self._writer.enclosed(pieces[0])] if len(pieces) == 1 else self._writer.enclosed_pieces(pieces)


class YamlText:
    """A list as YAML. Writing an object takes a millisecond, so each is a slice of its own."""

    objects, size = 1, 1
    factor = YAML_FACTOR

    def __init__(self, made: Listing) -> None:
        from setpoint.objects import yamltext  # YAML is rarely requested: the import does not delay the start

        self._dump = yamltext.dump
        self._empty = self._dump(_decode(made.empty)).encode()
        self._field = made.field
        start, found, self._after = f"\n{self._empty.decode()}".rpartition(f"\n{made.field}: []\n")
        self._before = f"{start}\n{made.field}:\n".removeprefix("\n").encode() if found else b""

    def part(self, rendered: list[bytes], *, is_first: bool) -> bytes:
        text = self._dump({self._field: [_decode(each) for each in rendered]}).encode()
        inner = text.removeprefix(b"%b:\n" % self._field.encode())
        return self._before + inner if is_first else inner

    def complete(self, pieces: list[bytes]) -> list[bytes]:
        if not pieces:
            return [self._empty]
        pieces[-1] += self._after.encode()
        return pieces
