"""Events that users see: `recorder.normal(website, "Published", "serves at {url}")`.

Recording an event never waits and never fails: a bounded queue takes the event, and a task writes queued events to the
server. Repeated events are counted, combined or dropped (`series`, `correlation`). Events dropped because the server is
unavailable are counted in the metrics. Events are written as events.k8s.io/v1; `legacy` recorders write core/v1 events
with client-go's older rules.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from setpoint.client import patches
from setpoint.client.client import Client
from setpoint.client.kinds import AnyObject, tree_of
from setpoint.client.transport import TransportError
from setpoint.controller.correlation import Correlator
from setpoint.controller.series import FINISH_SECONDS, REFRESH_SECONDS, Series, SeriesUpdate
from setpoint.objects.clock import timeout
from setpoint.objects.errors import AlreadyExists, APIError, Forbidden, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.names import dns1123_subdomain, qualified_name
from setpoint.objects.times import format_micro_time, format_time
from setpoint.objects.tree import Object

NORMAL, WARNING = "Normal", "Warning"
MOST_QUEUED, MOST_TRIES, RETRY_SECONDS = 1000, 12, 10.0
# The limits of the API for the fields of an event.
_NAME_CHARACTERS, _NOTE_BYTES = 128, 1024
# The names that a new event tries.
_MOST_NAMES = 8
_EVENT, _LEGACY = GroupVersionKind("events.k8s.io", "v1", "Event"), GroupVersionKind("", "v1", "Event")

_log = logging.getLogger(__name__)


class Recorder:
    """Records the events of one reporter.

    recorder = events.recorder("websites")
    recorder.normal(website, "Published", f"serves at {url}")
    recorder.warning(website, "CertificateExpired", "the certificate expired yesterday")
    """

    def __init__(self, events: "Events", name: str, *, legacy: bool = False) -> None:
        self._events = events
        self._make = events.legacy_event if legacy else events.event
        self.name = name

    def normal(
        self,
        regarding: AnyObject,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: AnyObject | None = None,
        annotations: Mapping[str, str] | None = None,
        field_path: str = "",
    ) -> None:
        """Records a normal event.

        `reason` is a word in CamelCase, and `note` is a text for people. `action` names the action taken; by default
        the reason. `field_path` names a part of the object, such as `spec.containers{web}`.
        """
        self._record(regarding, NORMAL, reason, note, action, related, annotations, field_path)

    def warning(
        self,
        regarding: AnyObject,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: AnyObject | None = None,
        annotations: Mapping[str, str] | None = None,
        field_path: str = "",
    ) -> None:
        """Records a warning event. See `normal` for the arguments."""
        self._record(regarding, WARNING, reason, note, action, related, annotations, field_path)

    def _record(
        self,
        regarding: AnyObject,
        kind: str,
        reason: str,
        note: str,
        action: str,
        related: AnyObject | None,
        annotations: Mapping[str, str] | None,
        field_path: str,
    ) -> None:
        try:
            about = reference(regarding)
            if field_path:
                about["fieldPath"] = field_path
            beside = reference(related) if related is not None else None
        except ValueError as error:
            _log.warning("%s: cannot record event %s: %s", self.name, reason, error)
            return
        content = _EventContent(
            self.name, kind, reason[:_NAME_CHARACTERS], _clipped(note, _NOTE_BYTES), action or reason
        )
        self._events.put(self._make(about, content, beside, annotations))


class _EventContent(NamedTuple):
    """The content of an event."""

    reporter: str
    type: str
    reason: str
    note: str
    action: str


class Events:
    """Writes the events of all recorders of a program to one server.

    events = Events(client)
    recorder = events.recorder("websites")
    await events.run()  # until cancelled
    """

    def __init__(
        self,
        client: Client,
        *,
        ids: Ids | None = None,
        host: str | None = None,
        queued: int = MOST_QUEUED,
    ) -> None:
        """`host` is the machine in the events; by default this one, and empty for none."""
        self._client = client
        self._clock = client.clock
        self._ids = ids or SystemIds()
        self._host = socket.gethostname() if host is None else host
        self._most = queued
        # The events to write, with the times of their recording in nanoseconds.
        self._queue: deque[tuple[int, Object]] = deque()
        self._more = asyncio.Event()
        self._series = Series(self._clock)
        self._correlator = Correlator(self._clock)
        # The time in the last name, in nanoseconds.
        self._last_moment = 0
        # The events that did not reach the server: the queue was full, the server rejected them, or the retries ended.
        self.dropped = self.rejected = self.failed = 0
        # The written events, and those dropped as duplicates.
        self.written = self.filtered = 0

    def recorder(self, name: str, *, legacy: bool = False) -> Recorder:
        """Returns a recorder for the reporter of this name. Raises ValueError for an invalid name."""
        if wrong := qualified_name(name):
            raise ValueError(f"invalid event reporter {name!r}: {'; '.join(wrong)}")
        return Recorder(self, name, legacy=legacy)

    def put(self, event: Object) -> None:
        """Queues an event to be written; drops the event if the queue is full."""
        if len(self._queue) >= self._most:
            self.dropped += 1
            if self.dropped == 1 or self.dropped % 1000 == 0:
                _log.warning("event queue is full; %d events dropped", self.dropped)
            return
        self._queue.append((round(self._clock.now().timestamp() * 1_000_000) * 1000, event))
        self._more.set()

    async def run(self) -> None:
        """Writes events until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_all())
            group.create_task(self._every(FINISH_SECONDS, self._series.finish))
            group.create_task(self._every(REFRESH_SECONDS, self._series.refresh))

    async def flush(self, seconds: float = 5.0) -> None:
        """Writes the queued events at the end: one attempt each, within the given seconds."""
        with suppress(TimeoutError):
            async with timeout(self._clock, seconds):
                while self._queue:
                    for telling in self._correlated(*self._queue.popleft()):
                        await self._attempt(telling)
                for series in self._series.unsent():
                    await self._attempt(_Write(_EVENT, series.event, series.patch))
        self.dropped += len(self._queue)
        self._queue.clear()

    async def _write_all(self) -> None:
        while True:
            while self._queue:
                for write in self._correlated(*self._queue.popleft()):
                    await self._write(write)
            self._more.clear()
            await self._more.wait()

    async def _every(self, seconds: float, due_series: Callable[[], list[SeriesUpdate]]) -> None:
        while True:
            await self._clock.sleep(seconds)
            for series in due_series():
                await self._write(_Write(_EVENT, series.event, series.patch))

    def _correlated(self, moment: int, event: Object) -> "Iterator[_Write]":
        """Yields the writes that result from an event. The name is chosen only now, so that the names of the events of
        a writer are in the order of their writing, although some events need several attempts to find a name."""
        name = self._name(_about(event)["name"], moment)
        event = {**event, "metadata": {"name": name, **event["metadata"]}}
        if "regarding" in event:
            found = self._series.observe(event)
            self.filtered += not found
            yield from (_Write(_EVENT, telling.event, telling.patch) for telling in found)
            return
        write = self._correlator.correlate(event, name)
        if write is None:
            self.filtered += 1
        else:
            yield _Write(_LEGACY, write.event, write.patch, write.key)

    def families(self) -> Iterator[MetricFamily]:
        """Yields the event metrics."""
        found = {
            "written": self.written,
            "filtered": self.filtered,
            "dropped": self.dropped,
            "rejected": self.rejected,
            "given_up": self.failed,
        }
        samples = [({"result": result}, count) for result, count in found.items()]
        yield MetricFamily("setpoint_events_total", "counter", "Events by result.", samples)

    # Writing

    async def _write(self, write: "_Write") -> None:
        """Writes an event, and retries while the server is unreachable."""
        for tries in range(1, MOST_TRIES + 1):
            if await self._attempt(write, is_retry=tries > 1):
                return
            if tries < MOST_TRIES:
                # The first delay is random, so that clients do not all return at once.
                await self._clock.sleep(RETRY_SECONDS * (self._ids.random() if tries == 1 else 1.0))
        self.failed += 1
        _log.warning("dropping an event after %d attempts: %s", MOST_TRIES, write)

    async def _attempt(self, write: "_Write", *, is_retry: bool = False) -> bool:
        """Tries to write an event. Returns False if a retry makes sense."""
        try:
            event = await self._send(write, is_retry)
        except TransportError as error:
            _log.info("cannot write an event yet: %s", error)
            return False
        except APIError as error:
            # The event to patch is being created by another attempt of this process.
            if isinstance(error, AlreadyExists) and write.patch is not None:
                return False
            self.rejected += 1
            _log.log(
                logging.DEBUG if isinstance(error, AlreadyExists) else logging.WARNING,
                "the server rejected an event: %s: %s",
                write,
                error,
            )
            return True
        self.written += 1
        if write.key:
            self._correlator.record_written(event, write.key)
        return True

    async def _send(self, write: "_Write", is_retry: bool) -> Object:
        event = write.event
        metadata = event["metadata"]
        if write.patch is not None:
            with suppress(NotFound):  # the event expired: create a new one
                found: Object = await self._client.patch(
                    write.kind, patches.strategic(write.patch), metadata["name"], metadata["namespace"]
                )
                return found
        return await self._create(write, is_retry)

    async def _create(self, write: "_Write", is_retry: bool) -> Object:
        """Creates an event. Takes the next name if another event has the name: another writer has reported about the
        object in the same nanosecond, as in virtual time."""
        event = write.event
        metadata = {name: value for name, value in event["metadata"].items() if name != "resourceVersion"}
        for names in range(1, _MOST_NAMES + 1):
            try:
                created = await self._client.create({**event, "metadata": metadata})
            except AlreadyExists:
                if write.patch is not None or names == _MOST_NAMES:
                    raise
                if not await self._is_of_another(write, metadata, is_retry):
                    raise
                # Longer and longer steps pass the names of many events in few attempts.
                metadata = {**metadata, "name": self._name(_about(event)["name"], 0, step=2 ** (names - 1))}
            else:
                if names > 1 and not write.key:
                    self._series.rename(event, metadata["name"])
                return created
        raise AssertionError("the last attempt returns or raises")

    async def _is_of_another(self, write: "_Write", metadata: Object, is_retry: bool) -> bool:
        """Returns True if the stored event of this name differs from a new one in its object, writer or content."""
        try:
            stored: Object = await self._client.get(write.kind, metadata["name"], metadata["namespace"])
        except NotFound:  # deleted in the meantime
            return True
        except Forbidden:
            # Most writers may not read events. Only a write whose answer was lost can have stored its own event.
            return not is_retry
        return _identity(stored) != _identity(write.event)

    # Making

    def event(
        self, reference: Object, content: _EventContent, related: Object | None, annotations: Mapping[str, str] | None
    ) -> Object:
        """Returns an events.k8s.io/v1 event."""
        found: Object = {
            "apiVersion": _EVENT.api_version,
            "kind": "Event",
            "metadata": self._metadata(reference, annotations),
            "eventTime": format_micro_time(self._clock.now()),
            "reportingController": content.reporter,
            "reportingInstance": f"{content.reporter}-{self._host}"[:_NAME_CHARACTERS],
            "action": content.action[:_NAME_CHARACTERS],
            "reason": content.reason,
            "regarding": reference,
            "note": content.note,
            "type": content.type,
        }
        if related is not None:
            found["related"] = related
        return found

    def legacy_event(
        self, reference: Object, content: _EventContent, related: Object | None, annotations: Mapping[str, str] | None
    ) -> Object:
        """Returns a core/v1 event."""
        moment = format_time(self._clock.now())
        found: Object = {
            "apiVersion": _LEGACY.api_version,
            "kind": "Event",
            "metadata": self._metadata(reference, annotations),
            "involvedObject": reference,
            "reason": content.reason,
            "message": content.note,
            "source": {"component": content.reporter, **({"host": self._host} if self._host else {})},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": content.type,
            "reportingComponent": content.reporter,
            "reportingInstance": self._host,
        }
        if related is not None:
            found["related"] = related
        return found

    def _metadata(self, about: Object, annotations: Mapping[str, str] | None) -> Object:
        namespace = about.get("namespace") or "default"
        return {"namespace": namespace, **({"annotations": dict(annotations)} if annotations else {})}

    def _name(self, about: str, moment: int, step: int = 1) -> str:
        """Returns an event name that this writer has not used: the object's name and the time in nanoseconds."""
        self._last_moment = max(moment, self._last_moment + step)
        name = f"{about}.{self._last_moment:x}"
        return self._ids.uid() if dns1123_subdomain(name) else name


class _Write(NamedTuple):
    """One event to create, or to patch."""

    kind: GroupVersionKind
    event: Object
    patch: Object | None
    # The key in the correlator, if any.
    key: str = ""

    def __str__(self) -> str:
        event = self.event
        about = _about(event)
        return f"{event['reason']} of {about.get('kind')} {about.get('namespace', '')}/{about.get('name')}"


def reference(obj: AnyObject) -> Object:
    """Returns the object reference of an event. Raises ValueError for an object without apiVersion, kind or name."""
    # A frozen tree is only read: `tree_of` would copy the whole object for each event.
    tree = obj if isinstance(obj, dict) else tree_of(obj)
    metadata = tree.get("metadata") or {}
    found = {
        "apiVersion": tree.get("apiVersion"),
        "kind": tree.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    if not (found["kind"] and found["apiVersion"] and found["name"]):
        raise ValueError("the object has no apiVersion, kind or name")
    return {name: value for name, value in found.items() if value}


def _about(event: Object) -> Object:
    """Returns the reference to the object of an event."""
    about: Object = event.get("regarding") or event.get("involvedObject") or {}
    return about


def _identity(event: Object) -> list[object]:
    """Returns the fields that are equal only in attempts to write one event."""
    about = _about(event)
    named = ("reason", "note", "message", "reportingController", "reportingComponent", "reportingInstance")
    return [
        *(event.get(field) or "" for field in named),
        *(about.get(field, "") for field in ("kind", "name", "uid", "fieldPath")),
    ]


def _clipped(text: str, limit: int) -> str:
    """Truncates a text to a number of bytes."""
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore") + "…"
