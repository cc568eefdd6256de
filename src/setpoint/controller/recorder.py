"""Events that users see: `recorder.normal(website, "Published", "serves at {url}")`.

Recording an event never waits and never fails: it is put into a bounded queue from which a task writes to the server.
What comes too thick is counted up, combined or left out (`series`, `correlation`); what is dropped because the server
cannot take it is counted and shown in the metrics. Written are events of events.k8s.io/v1; `legacy` ones are those of
core/v1, with client-go's older rules.
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
from setpoint.controller.series import FINISH_SECONDS, REFRESH_SECONDS, Series, Telling
from setpoint.objects.clock import timeout
from setpoint.objects.errors import AlreadyExists, APIError, NotFound
from setpoint.objects.gvk import GroupVersionKind
from setpoint.objects.ids import Ids, SystemIds
from setpoint.objects.metrics import MetricFamily
from setpoint.objects.names import dns1123_subdomain, qualified_name
from setpoint.objects.times import format_micro_time, format_time
from setpoint.objects.tree import Object

NORMAL, WARNING = "Normal", "Warning"
MOST_QUEUED, MOST_TRIES, RETRY_SECONDS = 1000, 12, 10.0
# What the API allows in the fields of an event.
_NAME_CHARACTERS, _NOTE_BYTES = 128, 1024
_EVENT, _LEGACY = GroupVersionKind("events.k8s.io", "v1", "Event"), GroupVersionKind("", "v1", "Event")

_log = logging.getLogger(__name__)


class Recorder:
    """Records the events of one reporter."""

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
    ) -> None:
        """Tells that something happened as it should. `reason` is a word in CamelCase, `note` is for people; `action`
        says what was done, and is the reason if nothing is given."""
        self._record(regarding, NORMAL, reason, note, action, related, annotations)

    def warning(
        self,
        regarding: AnyObject,
        reason: str,
        note: str,
        *,
        action: str = "",
        related: AnyObject | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Tells that something may be wrong."""
        self._record(regarding, WARNING, reason, note, action, related, annotations)

    def _record(
        self,
        regarding: AnyObject,
        kind: str,
        reason: str,
        note: str,
        action: str,
        related: AnyObject | None,
        annotations: Mapping[str, str] | None,
    ) -> None:
        try:
            about = reference(regarding)
            beside = reference(related) if related is not None else None
        except ValueError as error:
            _log.warning("%s: no event %s: %s", self.name, reason, error)
            return
        said = _Said(self.name, kind, reason[:_NAME_CHARACTERS], _clipped(note, _NOTE_BYTES), action or reason)
        self._events.put(self._make(about, said, beside, annotations))


class _Said(NamedTuple):
    """What an event says."""

    reporter: str
    type: str
    reason: str
    note: str
    action: str


class Events:
    """Writes the events of all recorders of a program to one server."""

    def __init__(self, client: Client, *, ids: Ids | None = None, host: str = "", queued: int = MOST_QUEUED) -> None:
        self._client = client
        self._clock = client.clock
        self._ids = ids or SystemIds()
        self._host = host or socket.gethostname()
        self._most = queued
        self._queue: deque[Object] = deque()
        self._more = asyncio.Event()
        self._series = Series(self._clock)
        self._correlator = Correlator(self._clock)
        self._last_nanos = 0
        # How many did not get to the server: the queue was full, the server refused them, or was away for too long.
        self.dropped = self.rejected = self.given_up = 0
        # How many were written, and how many were left out because too many said the same.
        self.written = self.filtered = 0

    def recorder(self, name: str, *, legacy: bool = False) -> Recorder:
        """A recorder for who reports under this name. Raises ValueError for one that no event may have."""
        if wrong := qualified_name(name):
            raise ValueError(f"{name!r} cannot be the reporter of events: {'; '.join(wrong)}")
        return Recorder(self, name, legacy=legacy)

    def put(self, event: Object) -> None:
        """Queues an event that is to be written; drops it if too many wait."""
        if len(self._queue) >= self._most:
            self.dropped += 1
            if self.dropped == 1 or self.dropped % 1000 == 0:
                _log.warning("too many events wait to be written; %d were dropped", self.dropped)
            return
        self._queue.append(event)
        self._more.set()

    async def run(self) -> None:
        """Writes events until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._write_all())
            group.create_task(self._every(FINISH_SECONDS, self._series.finish))
            group.create_task(self._every(REFRESH_SECONDS, self._series.refresh))

    async def flush(self, seconds: float = 5.0) -> None:
        """At the end: writes what waits, trying each once, for so many seconds at most."""
        with suppress(TimeoutError):
            async with timeout(self._clock, seconds):
                while self._queue:
                    for telling in self._correlated(self._queue.popleft()):
                        await self._attempt(telling)
                for series in self._series.untold():
                    await self._attempt(_Write(_EVENT, series.event, series.patch))
        self.dropped += len(self._queue)
        self._queue.clear()

    async def _write_all(self) -> None:
        while True:
            while self._queue:
                for write in self._correlated(self._queue.popleft()):
                    await self._write(write)
            self._more.clear()
            await self._more.wait()

    async def _every(self, seconds: float, told: Callable[[], list[Telling]]) -> None:
        while True:
            await self._clock.sleep(seconds)
            for series in told():
                await self._write(_Write(_EVENT, series.event, series.patch))

    def _correlated(self, event: Object) -> "Iterator[_Write]":
        """What is to be written because of an event."""
        if "regarding" in event:
            found = self._series.observe(event)
            self.filtered += not found
            yield from (_Write(_EVENT, telling.event, telling.patch) for telling in found)
            return
        told = self._correlator.correlate(event, self._name(event["involvedObject"]["name"]))
        if told is None:
            self.filtered += 1
        else:
            yield _Write(_LEGACY, told.event, told.patch, told.key)

    def families(self) -> Iterator[MetricFamily]:
        """What `/metrics` tells of events."""
        found = {
            "written": self.written,
            "filtered": self.filtered,
            "dropped": self.dropped,
            "rejected": self.rejected,
            "given_up": self.given_up,
        }
        samples = [({"result": result}, count) for result, count in found.items()]
        yield MetricFamily("setpoint_events_total", "counter", "Events by what became of them.", samples)

    # Writing

    async def _write(self, write: "_Write") -> None:
        """Writes, and tries again for as long as the server cannot be reached."""
        for tries in range(1, MOST_TRIES + 1):
            if await self._attempt(write):
                return
            if tries < MOST_TRIES:
                # The first wait is by chance, so that not all who lost the server come back at once.
                await self._clock.sleep(RETRY_SECONDS * (self._ids.random() if tries == 1 else 1.0))
        self.given_up += 1
        _log.warning("an event was given up after %d tries: %s", MOST_TRIES, write)

    async def _attempt(self, write: "_Write") -> bool:
        """One try. False if another one makes sense."""
        try:
            event = await self._send(write)
        except TransportError as error:
            _log.info("an event could not be written yet: %s", error)
            return False
        except APIError as error:
            # The event it should change is made by another of our own tries at this moment.
            if isinstance(error, AlreadyExists) and write.patch is not None:
                return False
            self.rejected += 1
            _log.log(
                logging.DEBUG if isinstance(error, AlreadyExists) else logging.WARNING,
                "the server refuses an event: %s: %s",
                write,
                error,
            )
            return True
        self.written += 1
        if write.key:
            self._correlator.written(event, write.key)
        return True

    async def _send(self, write: "_Write") -> Object:
        event = write.event
        metadata = event["metadata"]
        if write.patch is not None:
            with suppress(NotFound):  # it expired: it is made anew
                found: Object = await self._client.patch(
                    write.kind, patches.strategic(write.patch), metadata["name"], metadata["namespace"]
                )
                return found
        fresh = {name: value for name, value in metadata.items() if name != "resourceVersion"}
        return await self._client.create({**event, "metadata": fresh})

    # Making

    def event(
        self, about: Object, said: _Said, related: Object | None, annotations: Mapping[str, str] | None
    ) -> Object:
        """An event of events.k8s.io/v1."""
        found: Object = {
            "apiVersion": _EVENT.api_version,
            "kind": "Event",
            "metadata": self._metadata(about, annotations),
            "eventTime": format_micro_time(self._clock.now()),
            "reportingController": said.reporter,
            "reportingInstance": f"{said.reporter}-{self._host}"[:_NAME_CHARACTERS],
            "action": said.action[:_NAME_CHARACTERS],
            "reason": said.reason,
            "regarding": about,
            "note": said.note,
            "type": said.type,
        }
        if related is not None:
            found["related"] = related
        return found

    def legacy_event(
        self, about: Object, said: _Said, related: Object | None, annotations: Mapping[str, str] | None
    ) -> Object:
        """An event of core/v1."""
        moment = format_time(self._clock.now())
        found: Object = {
            "apiVersion": _LEGACY.api_version,
            "kind": "Event",
            "metadata": self._metadata(about, annotations),
            "involvedObject": about,
            "reason": said.reason,
            "message": said.note,
            "source": {"component": said.reporter, "host": self._host},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
            "type": said.type,
            "reportingComponent": said.reporter,
            "reportingInstance": self._host,
        }
        if related is not None:
            found["related"] = related
        return found

    def _metadata(self, about: Object, annotations: Mapping[str, str] | None) -> Object:
        metadata: Object = {"name": self._name(about["name"]), "namespace": about.get("namespace") or "default"}
        if annotations:
            metadata["annotations"] = dict(annotations)
        return metadata

    def _name(self, about: str) -> str:
        """A name for an event about an object: that of the object and the time, which is never the same twice."""
        nanos = max(round(self._clock.now().timestamp() * 1_000_000) * 1000, self._last_nanos + 1)
        self._last_nanos = nanos
        name = f"{about}.{nanos:x}"
        return self._ids.uid() if dns1123_subdomain(name) else name


class _Write(NamedTuple):
    """One event to be created, or patched, if it can be."""

    kind: GroupVersionKind
    event: Object
    patch: Object | None
    # Under which the correlator remembers it, if it does.
    key: str = ""

    def __str__(self) -> str:
        event = self.event
        about = event.get("regarding") or event.get("involvedObject") or {}
        return f"{event['reason']} of {about.get('kind')} {about.get('namespace', '')}/{about.get('name')}"


def reference(obj: AnyObject) -> Object:
    """What an event calls an object. Raises ValueError for what does not say its kind and name."""
    tree = tree_of(obj)
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
        raise ValueError("the object does not say its apiVersion, kind and name")
    return {name: value for name, value in found.items() if value}


def _clipped(text: str, limit: int) -> str:
    """As much of a text as fits into so many bytes."""
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore") + "…"
