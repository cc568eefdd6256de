"""The writes of this process, recorded as they are sent, so that reads of the cache can wait for them.

A write is identified by the resource version in the server's answer, an immediate deletion by the uid of the deleted
object. Only the newest write of each object is kept, for a limited number of objects.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from setpoint.cache.entry import number
from setpoint.client.transport import Answer, Call, Stream, Transport

MAX_NOTES = 10_000
# Below this number, the notes are not checked for writes that were seen.
FEW_NOTES = 100

_WRITES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_OF_NAMESPACES = frozenset(("status", "finalize"))


class Write(NamedTuple):
    """The newest write to an object: its revision, or a deletion, which is identified by the uid."""

    revision: int
    uid: str = ""
    deleted: bool = False
    labels: Mapping[str, str] | None = None


class Target(NamedTuple):
    """A resource, independent of its version."""

    group: str
    plural: str


class _ObjectMetadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def is_terminating(self) -> bool:
        """True if a deleted object remains for a while, because of finalizers or a grace period."""
        return bool(self.finalizers or self.deletion_grace_period_seconds)


class _Details(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _ResponseBody(msgspec.Struct):
    kind: str = ""
    metadata: _ObjectMetadata | None = None
    details: _Details | None = None
    items: "list[_ResponseBody] | None" = None


_read = msgspec.json.Decoder(_ResponseBody).decode


class Writes:
    """The newest write to each object."""

    def __init__(
        self, most: int = MAX_NOTES, seen: Callable[[Target, Mapping[str, Write]], Iterable[str]] | None = None
    ) -> None:
        """`seen` returns the keys of the writes that all feeds have seen, which need not be kept."""
        self._most = most
        self._seen = seen
        # The number of notes that triggers the next check.
        self._many = FEW_NOTES
        # The writes by resource, and by the keys of the objects. Only this class changes them.
        self.by_target: dict[Target, OrderedDict[str, Write]] = {}

    def __bool__(self) -> bool:
        return bool(self.by_target)

    def of(self, target: Target) -> Mapping[str, Write]:
        """Returns the writes to a resource, by the keys of the objects."""
        return self.by_target.get(target) or {}

    def record(self, target: Target, key: str, write: Write) -> None:
        notes = self.by_target.setdefault(target, OrderedDict())
        known = notes.get(key)
        # Answers may arrive out of order; a deletion has no revision, and is the last write to that uid.
        is_gone = known is not None and known.deleted and known.uid == write.uid
        if known is not None and not write.deleted and (is_gone or known.revision > write.revision):
            return
        notes[key] = write
        notes.move_to_end(key)
        if len(notes) > self._many and self._seen is not None:
            for each in self._seen(target, notes):
                del notes[each]
            self._many = max(2 * len(notes), FEW_NOTES)
        if len(notes) > self._most:
            notes.popitem(last=False)

    def discard(self, target: Target, key: str, write: Write) -> None:
        """Removes a write that is visible everywhere."""
        notes = self.by_target.get(target)
        if notes is not None and notes.get(key) == write:
            del notes[key]
            if not notes:
                del self.by_target[target]

    def record_response(self, call: Call, answer: Answer) -> None:
        """Records the writes of an answer."""
        target, namespace = _place(call.path)
        if target is None or any(name == "dryRun" for name, _ in call.query) or b'"dryRun"' in call.body[:4096]:
            return
        try:
            found = _read(answer.body)
        except msgspec.DecodeError:
            return
        is_deletion = call.method == "DELETE"
        for item in found.items if found.items is not None else (found,):
            self._record_one(target, namespace, item, is_deletion)

    def _record_one(self, target: Target, namespace: str, found: _ResponseBody, is_deletion: bool) -> None:
        if found.kind == "Status":
            details = found.details
            if is_deletion and details is not None and details.uid and details.name:
                self.record(target, _key(namespace, details.name), Write(0, details.uid, deleted=True))
            return
        metadata = found.metadata
        revision = number(metadata.resource_version) if metadata is not None else None
        if metadata is None or not metadata.name:
            return
        key = _key(metadata.namespace, metadata.name)
        # Removing the last finalizer deletes the object, too.
        if (is_deletion or metadata.deletion_timestamp) and not metadata.is_terminating:
            self.record(target, key, Write(0, metadata.uid, deleted=True))
        elif revision is not None:
            self.record(target, key, Write(revision, metadata.uid, labels=metadata.labels))


class RecordingTransport:
    """A transport that records the writes of its requests."""

    def __init__(self, inner: Transport, writes: Writes) -> None:
        self._inner = inner
        self._writes = writes
        # The endpoint of the server, a label of the metrics of every request; None in the same process.
        self.endpoint: Any = getattr(inner, "endpoint", None)

    async def send(self, call: Call) -> Answer:
        answer = await self._inner.send(call)
        if call.method in _WRITES and answer.status < 300:
            self._writes.record_response(call, answer)
        return answer

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()

    def __getattr__(self, name: str) -> Any:
        # Delegates all other public attributes. Private ones are not delegated: they may not be set yet.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _place(path: str) -> tuple[Target | None, str]:
    """Returns the resource and the namespace of a path."""
    root, *segments = path.strip("/").split("/")
    group = ""
    if root == "apis" and segments:
        group, *segments = segments
    elif root != "api":
        return None, ""
    segments = segments[1:]  # the version
    if len(segments) >= 3 and segments[0] == "namespaces" and segments[2] not in _OF_NAMESPACES:
        return Target(group, segments[2]), unquote(segments[1])
    return (Target(group, segments[0]), "") if segments else (None, "")
