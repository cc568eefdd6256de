"""The events of an engine's containers, networks, volumes and images, as a stream that reconnects.

After a lost connection the stream resumes from the last event; duplicates are dropped. A `Resync`, also sent at the
beginning, means that events may be missing and the caller must list again. The engine keeps only some hundreds of
events, and none across its own restart, so each reconnection sends one.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from setpoint.objects.clock import Clock
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.wire import Wire, json_lines

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
# The number of events that are remembered to detect duplicates.
_REMEMBERED = 1024
# Podman's names of actions, mapped to Docker's.
_ACTIONS = {"died": "die", "remove": "destroy"}


class Event(NamedTuple):
    """An event: `action` is Docker's name (create, start, die, stop, destroy, pause, unpause, kill, oom, health_status,
    rename, connect, disconnect, …)."""

    kind: str
    action: str
    id: str
    name: str
    attributes: Mapping[str, str]
    # Nanoseconds since 1970, by the engine's clock.
    at: int


class Resync(NamedTuple):
    """Events may have been missed: the caller must list again."""

    reason: str


Told: TypeAlias = Event | Resync


class Events:
    """One subscription to an engine's events."""

    def __init__(self, wire: Wire, clock: Clock, broken: Callable[[str], None] | None = None) -> None:
        self._wire = wire
        self._clock = clock
        # Called on each lost connection with the reason; the `Resync` follows after the reconnection.
        self._broken = broken
        self._seen: OrderedDict[tuple[int, str, str, str, str], None] = OrderedDict()
        self._last = 0

    async def follow(self) -> AsyncIterator[Told]:
        """Yields events forever."""
        wait = _FIRST_WAIT
        reason = "first connection"
        while True:
            try:
                # Some engines support only whole seconds; duplicates are dropped.
                since = str(self._last // 1_000_000_000) if self._last else None
                async with self._wire.stream("GET", "/events", {"since": since}, timeout=None) as stream:
                    # No event is missed from here on: a list after this point is complete.
                    yield Resync(reason)
                    async for message in json_lines(stream):
                        wait = _FIRST_WAIT
                        event = read(message)
                        if event is not None and self._is_new(event):
                            yield event
                reason = "the engine closed the event stream"
            except EngineError as error:
                reason = error.message
            if self._broken is not None:
                self._broken(reason)
            await self._clock.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)

    def _is_new(self, event: Event) -> bool:
        key = (event.at, event.kind, event.action, event.id, event.attributes.get("container", ""))
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        self._last = max(self._last, event.at)
        return True


def read(message: Mapping[str, Any]) -> Event | None:
    """Returns an event from the engine's JSON, or None if the message is not an event."""
    if not isinstance(message, dict) or "Action" not in message:
        return None
    actor = message.get("Actor") or {}
    attributes = {str(name): str(value) for name, value in (actor.get("Attributes") or {}).items()}
    at = message.get("timeNano") or int(message.get("time") or 0) * 1_000_000_000
    # Docker says `health_status: healthy`, and `exec_start: sh`.
    action, _, detail = str(message["Action"]).partition(": ")
    if detail:
        attributes.setdefault("detail", detail)
    return Event(
        str(message.get("Type") or ""),
        _ACTIONS.get(action, action),
        str(actor.get("ID") or ""),
        attributes.get("name", ""),
        attributes,
        int(at),
    )
