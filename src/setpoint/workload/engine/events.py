"""What happens to the containers, networks, volumes and images of an engine, as a stream that outlives breaks.

After a break it goes on from the last event it saw; those that come twice are dropped. Where something may have been
missed it says `Resync`, also at the beginning: look at everything again. The engine keeps only some hundreds of events,
and none over its own restart, so every break is followed by one.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from setpoint.objects.clock import Clock
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.engine.wire import Wire, json_lines

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
# How many events are remembered to know those that come twice.
_REMEMBERED = 1024
# What both engines call the same.
_ACTIONS = {"died": "die", "remove": "destroy"}


class Event(NamedTuple):
    """Something happened: `action` in Docker's words (create, start, die, stop, destroy, pause, unpause, kill, oom,
    health_status, rename, connect, disconnect, …)."""

    kind: str
    action: str
    id: str
    name: str
    attributes: Mapping[str, str]
    # Nanoseconds since 1970, by the engine's clock.
    at: int


class Resync(NamedTuple):
    """Something may have happened that was not told: look at everything."""

    reason: str


Told: TypeAlias = Event | Resync


class Events:
    """One follower of an engine's events."""

    def __init__(self, wire: Wire, clock: Clock, broken: Callable[[str], None] | None = None) -> None:
        self._wire = wire
        self._clock = clock
        # Told of each break when it comes, and why; the `Resync` comes when it is over.
        self._broken = broken
        self._seen: OrderedDict[tuple[int, str, str, str, str], None] = OrderedDict()
        self._last = 0

    async def follow(self) -> AsyncIterator[Told]:
        """Events for ever."""
        wait = _FIRST_WAIT
        reason = "the beginning"
        while True:
            try:
                # A second is as fine as some engines read it, and what comes twice is dropped.
                since = str(self._last // 1_000_000_000) if self._last else None
                async with self._wire.stream("GET", "/events", {"since": since}, timeout=None) as stream:
                    # Only now nothing more is missed: who looks at everything from here on knows everything.
                    yield Resync(reason)
                    async for message in json_lines(stream):
                        wait = _FIRST_WAIT
                        event = read(message)
                        if event is not None and self._is_new(event):
                            yield event
                reason = "the engine ended its events"
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
    """An event from the engine's JSON; None for what is none."""
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
