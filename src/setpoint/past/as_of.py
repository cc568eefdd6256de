"""A client of the past: all reads return the state at a revision, with secrets masked.

So every reading command can be used for any moment. Requests that do not support the past are rejected (writes), or are
answered with the present (watches, logs).
"""

import copy
from contextlib import AbstractAsyncContextManager

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.objects.tree import Json
from setpoint.past.secret_mask import masked

_READS = ("GET", "HEAD")
# Subresources that are not objects.
_NO_OBJECTS = frozenset({"log", "exec", "attach", "proxy", "portforward", "history"})
_encode = msgspec.json.Encoder().encode


def as_of(client: Client, revision: int) -> Client:
    """Returns the same client at a revision. Both share the connections: close only one of them."""
    found = copy.copy(client)
    found.transport = AsOf(client.transport, revision)
    return found


class AsOf:
    """A transport that reads the past."""

    def __init__(self, transport: Transport, revision: int) -> None:
        self._transport = transport
        self._revision = revision

    async def send(self, call: Call) -> Answer:
        if call.method not in _READS:
            if _is_question(call):
                return await self._transport.send(call)
            raise TransportError("cannot write in the past: remove the moment to write now", sent=False)
        if not _is_of_objects(call.path):
            return await self._transport.send(call)
        query = [
            *(pair for pair in call.query if pair[0] not in ("at", "resourceVersion")),
            ("at", str(self._revision)),
        ]
        answer = await self._transport.send(call._replace(query=query))
        return answer if answer.status >= 400 else answer._replace(body=_masked(answer.body))

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(call)

    async def close(self) -> None:
        await self._transport.close()


def _is_question(call: Call) -> bool:
    """Returns True for a POST that only queries the own identity or permissions."""
    return call.method == "POST" and "review" in call.path


def _is_of_objects(path: str) -> bool:
    """Returns True for the path of an object or a list, and False for discovery and our own endpoints."""
    parts = path.strip("/").split("/")
    below = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    ours = parts[:3] == ["apis", "setpoint.dev", "v1"] and (below[:1] == ["revisions"] or below[-1:] == ["history"])
    return bool(below) and not ours and below[-1] not in _NO_OBJECTS


def _masked(body: bytes) -> bytes:
    tree: Json = msgspec.json.decode(body)
    if not isinstance(tree, dict):
        return body
    if isinstance(items := tree.get("items"), list):
        kind = str(tree.get("kind", "")).removesuffix("List")
        tree["items"] = [_item(item, kind) for item in items]
    elif isinstance(rows := tree.get("rows"), list):
        # Columns contain no values of secrets; the attached objects may.
        for row in rows:
            row["object"] = _item(row.get("object"), "PartialObjectMetadata")
    else:
        tree = masked(tree)
    return _encode(tree)


def _item(item: Json, kind: str) -> Json:
    """Masks an item of a list, which may have no kind."""
    if not isinstance(item, dict):
        return item
    has_kind = "kind" in item
    found = masked(item if has_kind else {**item, "kind": kind})
    if not has_kind:
        del found["kind"]
    return found
