"""Events of events.k8s.io/v1 that come again: the second of a kind makes the first a series, later ones are counted.

A series is told to the server when it begins, every half hour, and when nothing came for six minutes: then it ends, and
the next event is a new one. client-go's rules, but for one: which version of the object an event is about makes no
difference, or the events of an object that changes would never be a series. Plain computing over an injected clock.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object

FINISH_SECONDS, REFRESH_SECONDS = 6 * 60.0, 30 * 60.0
# How many different events are remembered; of more, the oldest are told as they stand and begin anew.
MOST_SERIES = 4096
_FINISH = timedelta(seconds=FINISH_SECONDS)


class _Entry:
    """An event, and how often it came."""

    __slots__ = ("count", "event", "last", "told")

    def __init__(self, event: Object, now: datetime) -> None:
        self.event = event
        self.count = 1
        self.last = now
        # The count that was last handed out to be told.
        self.told = 1


class Telling(NamedTuple):
    """What to tell: an event to create, or, if it is a series, to change by its series."""

    event: Object

    @property
    def patch(self) -> Object | None:
        series = self.event.get("series")
        return {"series": series} if series else None


class Series:
    """The events of one sender."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, ...], _Entry] = {}

    def observe(self, event: Object) -> list[Telling]:
        """What is to be told at once: the event, or that it is a series now; nothing if it only counts."""
        now = self._clock.now()
        key = _key(event)
        entry = self._entries.get(key)
        if entry is None:
            dropped = []
            if len(self._entries) >= MOST_SERIES:
                oldest = self._entries.pop(next(iter(self._entries)))
                dropped = _untold(oldest)
            self._entries[key] = _Entry(event, now)
            return [*dropped, Telling(event)]
        entry.count += 1
        entry.last = now
        return [_tell(entry)] if entry.count == 2 else []

    def refresh(self) -> list[Telling]:
        """How all series stand."""
        return [_tell(entry) for entry in self._entries.values() if entry.count > 1]

    def finish(self) -> list[Telling]:
        """How those series stand that end now, because nothing came for long."""
        before = self._clock.now() - _FINISH
        ended = [key for key, entry in self._entries.items() if entry.last < before]
        entries = [self._entries.pop(key) for key in ended]
        return [_tell(entry) for entry in entries if entry.count > 1]

    def untold(self) -> list[Telling]:
        """What has been counted since it was last told, at the end of all."""
        return [telling for entry in self._entries.values() for telling in _untold(entry)]


def _untold(entry: _Entry) -> list[Telling]:
    return [_tell(entry)] if entry.count > entry.told else []


def _tell(entry: _Entry) -> Telling:
    entry.told = entry.count
    return Telling({**entry.event, "series": {"count": entry.count, "lastObservedTime": format_micro_time(entry.last)}})


def _key(event: Object) -> tuple[str, ...]:
    found = [event[name] for name in ("type", "action", "reason", "reportingController", "reportingInstance")]
    for about in (event["regarding"], event.get("related") or {}):
        found += [about.get(name, "") for name in ("apiVersion", "kind", "namespace", "name", "uid", "fieldPath")]
    return tuple(found)
