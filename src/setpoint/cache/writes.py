"""What this process wrote: noted where it is sent, so that reads of the cache can wait until they show it.

A write is known by the resourceVersion that the server answered with, a deletion that was done at once by the uid of
what is gone. The newest of each object is kept, and of very many objects the ones written last.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from setpoint.cache.revision import number
from setpoint.client.transport import Answer, Call, Stream, Transport

MAX_NOTES = 10_000
# So many are not worth looking through for what has been seen.
FEW_NOTES = 100

_WRITES = frozenset(("POST", "PUT", "PATCH", "DELETE"))
_OF_NAMESPACES = frozenset(("status", "finalize"))


class Write(NamedTuple):
    """The newest write to an object: the revision it has been there at, or gone (then by its uid)."""

    revision: int
    uid: str = ""
    gone: bool = False
    labels: Mapping[str, str] | None = None


class Target(NamedTuple):
    """A resource, however it is spelled."""

    group: str
    plural: str


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it stays for a while though it is to be deleted."""
        return bool(self.finalizers or self.deletion_grace_period_seconds)


class _Details(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _Answered(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata | None = None
    details: _Details | None = None
    items: "list[_Answered] | None" = None


_read = msgspec.json.Decoder(_Answered).decode


class Writes:
    """The newest write to each object."""

    def __init__(
        self, most: int = MAX_NOTES, seen: Callable[[Target, Mapping[str, Write]], Iterable[str]] | None = None
    ) -> None:
        """`seen` names those of some writes that everybody has seen: they need not be known any more."""
        self._most = most
        self._seen = seen
        # After how many it is asked.
        self._many = FEW_NOTES
        self._notes: dict[Target, OrderedDict[str, Write]] = {}

    def __bool__(self) -> bool:
        return bool(self._notes)

    def of(self, target: Target) -> Mapping[str, Write]:
        """The writes to a resource, by the keys of the objects."""
        return self._notes.get(target) or {}

    def note(self, target: Target, key: str, write: Write) -> None:
        notes = self._notes.setdefault(target, OrderedDict())
        known = notes.get(key)
        # Answers may overtake each other; a deletion says no revision, and nothing of that uid comes after it.
        is_gone = known is not None and known.gone and known.uid == write.uid
        if known is not None and not write.gone and (is_gone or known.revision > write.revision):
            return
        notes[key] = write
        notes.move_to_end(key)
        if len(notes) > self._many and self._seen is not None:
            for each in self._seen(target, notes):
                del notes[each]
            self._many = max(2 * len(notes), FEW_NOTES)
        if len(notes) > self._most:
            notes.popitem(last=False)

    def forget(self, target: Target, key: str, write: Write) -> None:
        """A write that is seen everywhere need not be known any more."""
        notes = self._notes.get(target)
        if notes is not None and notes.get(key) == write:
            del notes[key]
            if not notes:
                del self._notes[target]

    def hear(self, call: Call, answer: Answer) -> None:
        """Notes what an answer says was written."""
        target, namespace = _place(call.path)
        if target is None or any(name == "dryRun" for name, _ in call.query) or b'"dryRun"' in call.body[:4096]:
            return
        try:
            found = _read(answer.body)
        except msgspec.DecodeError:
            return
        is_deletion = call.method == "DELETE"
        for item in found.items if found.items is not None else (found,):
            self._hear_one(target, namespace, item, is_deletion)

    def _hear_one(self, target: Target, namespace: str, found: _Answered, is_deletion: bool) -> None:
        if found.kind == "Status":
            details = found.details
            if is_deletion and details is not None and details.uid and details.name:
                self.note(target, _key(namespace, details.name), Write(0, details.uid, gone=True))
            return
        metadata = found.metadata
        revision = number(metadata.resource_version) if metadata is not None else None
        if metadata is None or not metadata.name:
            return
        key = _key(metadata.namespace, metadata.name)
        # Whoever takes the last finalizer away has deleted the object, too.
        if (is_deletion or metadata.deletion_timestamp) and not metadata.is_held:
            self.note(target, key, Write(0, metadata.uid, gone=True))
        elif revision is not None:
            self.note(target, key, Write(revision, metadata.uid, labels=metadata.labels))


class NotingTransport:
    """A transport that notes the writes which it carries."""

    def __init__(self, inner: Transport, writes: Writes) -> None:
        self._inner = inner
        self._writes = writes

    async def send(self, call: Call) -> Answer:
        answer = await self._inner.send(call)
        if call.method in _WRITES and answer.status < 300:
            self._writes.hear(call, answer)
        return answer

    def stream(self, call: Call) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(call)

    async def close(self) -> None:
        await self._inner.close()

    def __getattr__(self, name: str) -> Any:
        # Whatever else the transport can do; not what is its own, or ours and not there yet.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _place(path: str) -> tuple[Target | None, str]:
    """The resource, and the namespace, that a path is for."""
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
