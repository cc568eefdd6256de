"""The pace of a controller: not too soon after the last time, and slower for what runs in circles.

A reconcile that writes, and is brought back by what it wrote, and writes again, runs for ever: a hot loop. When a
request was reconciled many times within some seconds, each time wrote something, and its spec was the same, the field
that kept changing is named, and the request has to wait before each further reconcile, longer each time, until it has
been quiet for a while. What something outside asked for (a channel, a stream, a timer) is no circle, however often: a
process that ends and is started again has its own pace. Neither is what others bring about: an object that changed and
that these reconciles have not written, or only made.
"""

from collections import Counter
from dataclasses import dataclass, field

from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import Run
from setpoint.objects.clock import Clock
from setpoint.objects.gvk import GroupVersionKind

# So many reconciles that wrote, in so many seconds, are a hot loop.
HOT_RUNS, HOT_SECONDS = 10, 10.0
# How long a hot request waits first, at most, and after how long without writing it is forgiven.
FIRST_SECONDS, LIMIT_SECONDS, QUIET_SECONDS = 1.0, 60.0, 120.0
# Reasons to reconcile that no write of ours can have caused.
_OUTSIDE = frozenset({"requested", "timer"})
# So many that wrote once are not worth looking through.
_FEW = 1000


@dataclass(slots=True)
class HotLoop:
    """A request that runs in circles."""

    request: Request
    # The paths that kept changing, the most frequent first, and how many reconciles there were.
    fields: tuple[str, ...]
    runs: int
    # How long it has to wait between two reconciles by now.
    seconds: float = FIRST_SECONDS

    def __str__(self) -> str:
        what = f"it keeps changing {', '.join(self.fields)}" if self.fields else "it writes, and nothing else changes"
        return f"{self.request} is reconciled in circles ({self.runs} times in {HOT_SECONDS:g} s): {what}"


@dataclass(slots=True)
class _Recent:
    started: float = 0.0
    not_before: float = 0.0
    generation: int = 0
    # When the last reconciles that wrote began, and why; of the first, that is not kept.
    writing: list[tuple[float, tuple[Trigger, ...]]] = field(default_factory=list)
    hot: HotLoop | None = None
    # The objects that they wrote, but for those that they made.
    written: set[tuple[GroupVersionKind, str]] = field(default_factory=set)

    def note(self, run: Run) -> None:
        """Remembers what a reconcile wrote."""
        self.written.update(
            (write.kind, write.object) for write in run.writes if not write.skipped and write.verb != "create"
        )

    def is_brought_back(self, run: Run) -> bool:
        """Whether nothing but what they wrote may have brought a reconcile about, as far as is known."""
        if not self.written:
            return True
        return all(
            trigger.kind is None or not trigger.object or (trigger.kind, trigger.object) in self.written
            for trigger in run.why
        )


class Pace:
    """When each request may run next."""

    def __init__(self, clock: Clock, min_interval: float) -> None:
        self._clock = clock
        self._min_interval = min_interval
        self._recent: dict[Request, _Recent] = {}
        # Those that wrote once, when that was, and for which generation: nearly all of them, for a while. Who writes
        # again within some seconds is looked at closely; of whom does not, nothing has to be known.
        self._once: dict[Request, tuple[float, int]] = {}
        self._most_once = _FEW

    def __len__(self) -> int:
        """How many requests something is known of."""
        return len(self._recent) + len(self._once)

    def wait(self, request: Request) -> float:
        """The seconds that a request should still wait; 0: it may run."""
        recent = self._recent.get(request)
        if recent is None:
            return 0.0
        return max(recent.not_before - self._clock.monotonic(), 0.0)

    def ran(self, run: Run, generation: int) -> HotLoop | None:
        """A reconcile has ended. Returns the hot loop that it turns out to be in, when it is noticed."""
        in_circle = run.wrote and not any(trigger.event in _OUTSIDE for trigger in run.why)
        if not self._min_interval:
            if not in_circle:
                self._calm(run.request)
                return None
            if run.request not in self._recent and not self._wrote_before(run, generation):
                return None
        recent = self._recent.setdefault(run.request, _Recent())
        recent.not_before = run.started + self._min_interval
        if in_circle and not recent.is_brought_back(run):
            in_circle = False
            if recent.hot is None:
                recent.writing.clear()
        recent.note(run)
        if not in_circle:
            return None
        if recent.generation != generation:
            recent.generation, recent.hot = generation, None
            recent.writing.clear()
        writing = recent.writing
        if writing and run.started - writing[-1][0] > HOT_SECONDS:
            writing.clear()
        writing.append((run.started, run.why if writing else ()))
        del writing[:-HOT_RUNS]
        return self._look(run, recent)

    def hot_loops(self) -> list[HotLoop]:
        """The requests that run in circles."""
        return [recent.hot for recent in self._recent.values() if recent.hot is not None]

    def forget(self, request: Request) -> None:
        """The object of a request is gone."""
        self._recent.pop(request, None)
        self._once.pop(request, None)

    def _wrote_before(self, run: Run, generation: int) -> bool:
        """Whether a request that nothing is known of wrote before, not long ago, for the same spec."""
        began, before = self._once.pop(run.request, (0.0, -1))
        if before == generation and run.started - began <= HOT_SECONDS:
            self._recent[run.request] = _Recent(generation=generation, writing=[(began, ())])
            return True
        if len(self._once) >= self._most_once:
            last = run.started - HOT_SECONDS
            self._once = {request: wrote for request, wrote in self._once.items() if wrote[0] >= last}
            self._most_once = max(2 * len(self._once), _FEW)
        self._once[run.request] = run.started, generation
        return False

    def _look(self, run: Run, recent: _Recent) -> HotLoop | None:
        hot = recent.hot
        if hot is not None:
            hot.seconds = min(hot.seconds * 2, LIMIT_SECONDS)
            recent.not_before = max(recent.not_before, run.started + hot.seconds)
            return None
        writing = recent.writing
        if len(writing) < HOT_RUNS or run.started - writing[0][0] > HOT_SECONDS:
            return None
        updates = (trigger for _, why in writing for trigger in why if trigger.event == "updated")
        counted = Counter(path for trigger in updates for path in trigger.fields)
        recent.hot = HotLoop(run.request, tuple(path for path, _ in counted.most_common(3)), len(writing))
        recent.not_before = max(recent.not_before, run.started + recent.hot.seconds)
        return recent.hot

    def _calm(self, request: Request) -> None:
        """A reconcile wrote nothing: what ran in circles has stopped, or rests."""
        self._once.pop(request, None)
        recent = self._recent.get(request)
        if recent is None:
            return
        if recent.hot is None or self._clock.monotonic() - recent.writing[-1][0] > QUIET_SECONDS:
            del self._recent[request]
