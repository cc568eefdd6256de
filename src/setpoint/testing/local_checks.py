"""Checks applied objects of the world's kinds before the server does.

An object that does not exist yet is checked by the schema and the rules of its class. For an existing object, required
fields and rules are left to the server, because other managers may own the fields that they need.
"""

from copy import copy

import msgspec

from setpoint.client.client import Client
from setpoint.client.patches import APPLY
from setpoint.client.transport import Answer, Call, Transport
from setpoint.controller.forward_transport import Forwarding
from setpoint.objects.errors import Invalid
from setpoint.objects.gvk import GroupVersion, GroupVersionKind
from setpoint.schema.types import Resource
from setpoint.schema.types.local_validation import errors_of

_NOT_FOUND = 404


class LocalChecks(Forwarding):
    """A transport that answers an invalid apply itself."""

    def __init__(self, transport: Transport, kinds: dict[GroupVersionKind, type[Resource]]) -> None:
        super().__init__(transport)
        self._kinds = kinds

    @classmethod
    def of(cls, client: Client, kinds: dict[GroupVersionKind, type[Resource]]) -> Client:
        """Returns a copy of a client with these checks. `kinds` may be extended later."""
        checked = copy(client)
        checked.transport = cls(client.transport, kinds)
        return checked

    async def send(self, call: Call) -> Answer:
        refusal = await self._refusal(call) if call.headers.get("content-type") == APPLY else None
        return await self.transport.send(call) if refusal is None else refusal

    async def _refusal(self, call: Call) -> Answer | None:
        """Returns the answer to an invalid apply; None for any other request."""
        tree = msgspec.json.decode(call.body)
        gvk = GroupVersion.parse(tree.get("apiVersion", "")).with_kind(tree.get("kind", ""))
        kind, name = self._kinds.get(gvk), call.path.rpartition("/")[2]
        if kind is None or name != tree.get("metadata", {}).get("name"):
            return None  # another kind, or a subresource
        live = await self.transport.send(Call("GET", call.path, (), {"accept": "application/json"}))
        errors = errors_of(kind, tree, is_partial=live.status != _NOT_FOUND)
        if not errors:
            return None
        error = Invalid.of(gvk.group_kind, name, errors)
        return Answer(error.code, {"content-type": "application/json"}, msgspec.json.encode(error.to_status()))
