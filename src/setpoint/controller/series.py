"""Repeated events.k8s.io/v1 events: the second occurrence starts a series, later ones are counted.

A series is sent to the server when the series begins, every 30 minutes, and when no event came for 6 minutes: then the
series ends, and the next event starts a new one. The rules are client-go's with one exception: the resource version of
the object is ignored, or the events of a changing object would never form a series. The module does no I/O and takes an
injected clock.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects.clock import Clock
from setpoint.objects.times import format_micro_time
from setpoint.objects.tree import Object

FINISH_SECONDS, REFRESH_SECONDS = 6 * 60.0, 30 * 60.0
# The number of events that are tracked; beyond that, the oldest are sent as they are and start anew.
MOST_SERIES = 4096
_FINISH = timedelta(seconds=FINISH_SECONDS)


class _CountedEvent:
    """An event and the number of its occurrences."""

    __slots__ = ("count", "event", "last", "reported")

    def __init__(self, event: Object, now: datetime) -> None:
        self.event = event
        self.count = 1
        self.last = now
        # The count that was last sent.
        self.reported = 1


class SeriesUpdate(NamedTuple):
    """An event to create, or a series to patch."""

    event: Object

    @property
    def patch(self) -> Object | None:
        series = self.event.get("series")
        return {"series": series} if series else None


class Series:
    """The events of one sender."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, ...], _CountedEvent] = {}

    def observe(self, event: Object) -> list[SeriesUpdate]:
        """Returns the writes that are due now: the event, or the start of a series; empty if only the count changed."""
        now = self._clock.now()
        key = _key(event)
        entry = self._entries.get(key)
        if entry is None:
            dropped = []
            if len(self._entries) >= MOST_SERIES:
                oldest = self._entries.pop(next(iter(self._entries)))
                dropped = _unsent(oldest)
            self._entries[key] = _CountedEvent(event, now)
            return [*dropped, SeriesUpdate(event)]
        entry.count += 1
        entry.last = now
        return [_update(entry)] if entry.count == 2 else []

    def rename(self, event: Object, name: str) -> None:
        """Records that an event is stored under another name, to which the updates of its series go."""
        entry = self._entries.get(_key(event))
        if entry is not None and entry.event["metadata"]["name"] == event["metadata"]["name"]:
            entry.event = {**entry.event, "metadata": {**entry.event["metadata"], "name": name}}

    def refresh(self) -> list[SeriesUpdate]:
        """Returns all series with their current counts."""
        return [_update(entry) for entry in self._entries.values() if entry.count > 1]

    def finish(self) -> list[SeriesUpdate]:
        """Ends the series without an event for 6 minutes, and returns them."""
        before = self._clock.now() - _FINISH
        ended = [key for key, entry in self._entries.items() if entry.last < before]
        entries = [self._entries.pop(key) for key in ended]
        return [_update(entry) for entry in entries if entry.count > 1]

    def unsent(self) -> list[SeriesUpdate]:
        """Returns the series with unsent counts, for the shutdown."""
        return [telling for entry in self._entries.values() for telling in _unsent(entry)]


def _unsent(entry: _CountedEvent) -> list[SeriesUpdate]:
    return [_update(entry)] if entry.count > entry.reported else []


def _update(entry: _CountedEvent) -> SeriesUpdate:
    entry.reported = entry.count
    return SeriesUpdate(
        {**entry.event, "series": {"count": entry.count, "lastObservedTime": format_micro_time(entry.last)}}
    )


def _key(event: Object) -> tuple[str, ...]:
    found = [event[name] for name in ("type", "action", "reason", "reportingController", "reportingInstance")]
    for about in (event["regarding"], event.get("related") or {}):
        found += [about.get(name, "") for name in ("apiVersion", "kind", "namespace", "name", "uid", "fieldPath")]
    return tuple(found)
