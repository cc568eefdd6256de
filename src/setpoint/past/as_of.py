"""A client that sees the past: whatever is read through it is as it was at a revision, with secrets masked.

So every command that reads can be asked about any moment. What cannot be read in the past (a watch, a log, a write) is
refused or comes from the present, as the server has it.
"""

import copy
from contextlib import AbstractAsyncContextManager

import msgspec

from setpoint.client.client import Client
from setpoint.client.transport import Answer, Call, Stream, Transport, TransportError
from setpoint.objects.tree import Json
from setpoint.past.secret_mask import masked

_READS = ("GET", "HEAD")
# What is asked below an object and is no object.
_NO_OBJECTS = frozenset({"log", "exec", "attach", "proxy", "portforward", "history"})
_encode = msgspec.json.Encoder().encode


def as_of(client: Client, revision: int) -> Client:
    """The same client at a revision. It shares the connections: close only one of them."""
    found = copy.copy(client)
    found.transport = AsOf(client.transport, revision)
    return found


class AsOf:
    """A transport into the past."""

    def __init__(self, transport: Transport, revision: int) -> None:
        self._transport = transport
        self._revision = revision

    async def send(self, call: Call) -> Answer:
        if call.method not in _READS:
            if _is_question(call):
                return await self._transport.send(call)
            raise TransportError("the past cannot be changed: leave out the moment to write now", sent=False)
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
    """A POST that only asks who one is, or what one may do."""
    return call.method == "POST" and "review" in call.path


def _is_of_objects(path: str) -> bool:
    """Whether a path is that of an object or a list, and not of discovery or our own endpoints."""
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
        # Columns show no values of secrets; what stands beside them may.
        for row in rows:
            row["object"] = _item(row.get("object"), "PartialObjectMetadata")
    else:
        tree = masked(tree)
    return _encode(tree)


def _item(item: Json, kind: str) -> Json:
    """An item of a list, which need not say its kind."""
    if not isinstance(item, dict):
        return item
    has_kind = "kind" in item
    found = masked(item if has_kind else {**item, "kind": kind})
    if not has_kind:
        del found["kind"]
    return found
