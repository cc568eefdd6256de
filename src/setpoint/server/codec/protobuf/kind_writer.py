"""Writers of whole kinds: from the JSON of an object to its message, and to the envelope around a message."""

import threading
from typing import Final

from setpoint.server.codec.protobuf.envelope import MAGIC
from setpoint.server.codec.protobuf.message_table import table
from setpoint.server.codec.protobuf.wire import BYTES
from setpoint.server.codec.protobuf.wire_text import CHARSET, number, sized
from setpoint.server.codec.protobuf.writer import encoder

# The end of an envelope: no content encoding, no content type.
_END = b'\x1a\0"\0'

# At most one writer per kind of the table. Requests may make them in several threads.
_writers: "dict[tuple[str, str], KindWriter]" = {}
_making = threading.Lock()


class KindWriter:
    """Writes the objects of one kind."""

    def __init__(self, api_version: str, kind: str, message: str) -> None:
        # Converts the JSON of an object to a message, without the envelope.
        self.message: Final = encoder(message)
        # The tag of the objects of a list. In one kind of list, they precede the metadata.
        number_of = {field.name: field.number for field in table().messages[message]}
        self.item_tag: Final = bytes((number_of.get("items", 0) << 3 | BYTES,))
        self.has_items_first: Final = number_of.get("items") == 1
        type_meta = sized(1, api_version) + sized(2, kind)
        self._start: Final = MAGIC + sized(1, type_meta).encode(CHARSET)

    def object(self, body: bytes) -> bytes:
        """Returns the message of an object, given as JSON, in its envelope."""
        return self.enclosed(self.message(body))

    def enclosed(self, message: bytes) -> bytes:
        """Returns a message in its envelope."""
        return b"%b\x12%b%b%b" % (self._start, length(len(message)), message, _END)

    def enclosed_pieces(self, pieces: list[bytes]) -> list[bytes]:
        """Returns a message that is given in pieces in its envelope, in pieces."""
        start = b"%b\x12%b" % (self._start, length(sum(map(len, pieces))))
        return [start, *pieces, _END]


def length(size: int) -> bytes:
    """Returns the bytes of a length."""
    return number(size).encode(CHARSET)


def cached_writer(api_version: str, kind: str) -> KindWriter | None:
    """Returns the writer of a kind if the writer has already been made."""
    return _writers.get((api_version, kind))


def kind_writer(api_version: str, kind: str) -> KindWriter | None:
    """Returns the writer of a kind, or None for a kind that has no message. Making the writer of a kind with many
    messages takes tens of milliseconds."""
    found = cached_writer(api_version, kind)
    if found is None:
        # The endpoints of discovery have kinds without a version.
        message = table().message_of(api_version or "v1", kind)
        if message is None:
            return None
        with _making:
            found = _writers[api_version, kind] = KindWriter(api_version, kind, message)
    return found
