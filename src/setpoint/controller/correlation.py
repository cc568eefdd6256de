"""Which of many similar events are told, and how: client-go's rules for events of core/v1.

The same event again is told by counting up the one that is there. When an object has many events of one reason that
differ only in what they say (10 within 600 s of each other), they are told as one whose text is that of the latest.
And of all that one source says of one object, no more than 25 at once are told, and one in five minutes from then on.
Plain computing over an injected clock; who writes to the server tells what it answered (`written`).
"""

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

from setpoint.controller.ratelimit import Bucket
from setpoint.objects.clock import Clock
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object

AGGREGATE, AGGREGATE_SECONDS = 10, 600.0
BURST, RATE = 25, 1 / 300
REMEMBERED = 4096
COMBINED = "(combined from similar events): "

V = TypeVar("V")


class Told(NamedTuple):
    """What to tell: an event to create, or, with a patch, one to change."""

    event: Object
    patch: Object | None
    # Under which it is remembered.
    key: str


class Recent(Generic[V]):
    """The values that were last asked for or set, of as many keys as are worth remembering."""

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._values: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        found = self._values.get(key)
        if found is not None:
            self._values.move_to_end(key)
        return found

    def put(self, key: str, value: V) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._limit:
            self._values.popitem(last=False)

    def __len__(self) -> int:
        return len(self._values)


class _Similar:
    """The texts of events that are alike but for those, and when the last came."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.last = 0.0


class _Seen(NamedTuple):
    """An event that was told, as the server knows it."""

    times: int
    first: str
    name: str
    resource_version: str


class Correlator:
    """Decides about the events of one sender."""

    def __init__(self, clock: Clock, *, remembered: int = REMEMBERED, burst: int = BURST, rate: float = RATE) -> None:
        self._clock = clock
        self._burst = burst
        self._rate = rate
        self._similar: Recent[_Similar] = Recent(remembered)
        self._seen: Recent[_Seen] = Recent(remembered)
        self._buckets: Recent[Bucket] = Recent(remembered)

    def correlate(self, event: Object, combined_name: str) -> Told | None:
        """What is to be told of an event; None for nothing. A combined one is made under the name that is given."""
        event, key = self._aggregate(event, combined_name)
        told = self._observe(event, key)
        return told if self._has_room(event) else None

    def written(self, event: Object, key: str) -> None:
        """The server has the event so."""
        seen = _Seen(
            int(event.get("count") or 1),
            event.get("firstTimestamp") or "",
            event["metadata"]["name"],
            event["metadata"].get("resourceVersion") or "",
        )
        self._seen.put(key, seen)

    def _aggregate(self, event: Object, name: str) -> tuple[Object, str]:
        now = self._clock.monotonic()
        reporter = (event.get("reportingComponent", ""), event.get("reportingInstance", ""))
        key = "\0".join((*_source_and_object(event), event["reason"], *reporter))
        similar = self._similar.get(key)
        if similar is None or now - similar.last > AGGREGATE_SECONDS:
            similar = _Similar()
        similar.texts[event["message"]] = None
        similar.last = now
        self._similar.put(key, similar)
        if len(similar.texts) < AGGREGATE:
            path = event["involvedObject"].get("fieldPath", "")
            return event, "\0".join((*_source_and_object(event), path, event["reason"], event["message"]))
        # One goes, so that there are never more of them than it takes.
        del similar.texts[next(iter(similar.texts))]
        moment = format_time(self._clock.now())
        combined = {
            **event,
            "metadata": {"name": name, "namespace": event["metadata"]["namespace"]},
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "message": COMBINED + event["message"],
        }
        return combined, key

    def _observe(self, event: Object, key: str) -> Told:
        seen = self._seen.get(key)
        patch: Object | None = None
        if seen is not None:
            patch = {"count": seen.times + 1, "lastTimestamp": event["lastTimestamp"], "message": event["message"]}
            metadata = {**event["metadata"], "name": seen.name, "resourceVersion": seen.resource_version}
            event = {**event, "metadata": metadata, "firstTimestamp": seen.first, "count": seen.times + 1}
        self.written(event, key)
        return Told(event, patch, key)

    def _has_room(self, event: Object) -> bool:
        key = "\0".join(_source_and_object(event))
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = Bucket(self._clock, self._rate, self._burst)
        self._buckets.put(key, bucket)
        return bucket.take()


def _source_and_object(event: Object) -> tuple[str, ...]:
    source: dict[str, Any] = event.get("source") or {}
    about: dict[str, Any] = event["involvedObject"]
    named = ("kind", "namespace", "name", "uid", "apiVersion")
    return (
        source.get("component", ""),
        source.get("host", ""),
        *(about.get(name, "") for name in named),
        event["type"],
    )
