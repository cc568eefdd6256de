"""Objects in protobuf: whole objects of built-in kinds, and the metadata of all objects."""

from functools import partial as bound

from setpoint.objects import pieces
from setpoint.objects.errors import InternalError
from setpoint.objects.tree import Object
from setpoint.server.codec.negotiation import PARTIAL, PARTIAL_LIST, Accepted
from setpoint.server.codec.partial_metadata import partial
from setpoint.server.codec.protobuf.kind_writer import KindWriter, cached_writer, kind_writer
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.store.contract import Item

# Writing an object as protobuf takes about as long as reading and writing this many times its JSON.
PROTOBUF_FACTOR = 2
# The names of the forms in the cache of messages, which are the same in all versions of the metadata.
_WHOLE, _METADATA = "object", "metadata"


async def writer_of(context: Context, api_version: str, kind: str) -> KindWriter:
    """Returns the writer of a kind, which a thread makes on first use."""
    found = cached_writer(api_version, kind)
    if found is None:
        found = await context.services.offload.run(context.user.name, bound(kind_writer, api_version, kind))
    if found is None:
        raise InternalError.of(f"{kind} in version {api_version} has no protobuf message")
    return found


def encoded_status(status: Object) -> bytes:
    """Returns a Status in its envelope."""
    writer = kind_writer(status["apiVersion"], status["kind"])
    assert writer is not None
    return writer.object(pieces.encode(status))


class ProtobufForm:
    """The objects of a resource in the form that a client accepts: whole, or their metadata."""

    def __init__(self, resource: Resource, accepted: Accepted, writer: KindWriter) -> None:
        self.writer = writer
        self._resource = resource
        self._version = accepted.api_version if accepted.form else ""
        self._name = _METADATA if accepted.form else _WHOLE

    @classmethod
    async def of(cls, context: Context, resource: Resource, accepted: Accepted) -> "ProtobufForm":
        """Returns the form, after making its writer on first use."""
        if accepted.form:
            return cls(resource, accepted, await writer_of(context, accepted.api_version, PARTIAL))
        return cls(resource, accepted, await writer_of(context, resource.api_version, resource.kind))

    def message(self, body: bytes) -> bytes:
        """Returns the message of an object, given as final JSON."""
        return self.writer.message(partial(self._resource, body, self._version) if self._version else body)

    def object(self, body: bytes) -> bytes:
        """Returns an object, given as final JSON, in its envelope."""
        return self.writer.enclosed(self.message(body))

    def stored_object(self, item: Item) -> bytes:
        """Returns a stored object in its envelope."""
        return self.writer.enclosed(self.stored(item))

    def stored(self, item: Item) -> bytes:
        """Returns the message of a stored object, which is made once for each revision."""
        return self._resource.messages.message(self._name, item, self._make)

    def _make(self, item: Item) -> bytes:
        return self.message(self._resource.render(item.value, item.revision))


async def list_writer(context: Context, resource: Resource, accepted: Accepted) -> KindWriter:
    """Returns the writer of the list of a resource in the form that a client accepts."""
    if accepted.form:
        return await writer_of(context, accepted.api_version, PARTIAL_LIST)
    return await writer_of(context, resource.api_version, resource.list_kind)
