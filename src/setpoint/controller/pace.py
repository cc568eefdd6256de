"""The pace of a controller: the minimum interval between reconciles, and the detection of hot loops.

A reconcile that writes, is triggered by its own write and writes again runs forever: a hot loop. If a request was
reconciled many times within a few seconds, wrote each time, and its spec did not change, then the field that keeps
changing is reported, and the request waits before each further reconcile, longer each time, until there was no write
for a while. Triggers from outside (a channel, a stream, a timer) are no hot loop, however frequent: a restarted process
has its own pace. The same holds for changes of objects that these reconciles did not write, or only created.
"""

from collections import Counter
from dataclasses import dataclass, field

from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import ReconcileRecord
from setpoint.objects.clock import Clock
from setpoint.objects.gvk import GroupVersionKind

# This number of reconciles that wrote, within this number of seconds, is a hot loop.
HOT_RUNS, HOT_SECONDS = 10, 10.0
# The first delay of a hot request, the longest delay, and the seconds without a write after which the loop is over.
FIRST_SECONDS, LIMIT_SECONDS, QUIET_SECONDS = 1.0, 60.0, 120.0
# Trigger events that cannot be caused by the controller's own writes.
_OUTSIDE = frozenset({"requested", "timer"})
# Entries of single writes are pruned only above this number.
_FEW = 1000


@dataclass(slots=True)
class HotLoop:
    """A request in a hot loop."""

    request: Request
    # The paths that kept changing, the most frequent first, and the number of reconciles.
    fields: tuple[str, ...]
    runs: int
    # The current delay between two reconciles.
    seconds: float = FIRST_SECONDS

    def __str__(self) -> str:
        what = f"each run changes {', '.join(self.fields)}" if self.fields else "each run triggers the next"
        return f"{self.request} is in a hot loop ({self.runs} times in {HOT_SECONDS:g} s): {what}"


@dataclass(slots=True)
class _Recent:
    started: float = 0.0
    not_before: float = 0.0
    generation: int = 0
    # The start and the triggers of the last reconciles that wrote; the triggers of the first are not kept.
    writing: list[tuple[float, tuple[Trigger, ...]]] = field(default_factory=list)
    hot: HotLoop | None = None
    # The objects that these reconciles wrote, except created ones.
    written: set[tuple[GroupVersionKind, str]] = field(default_factory=set)

    def note(self, run: ReconcileRecord) -> None:
        """Records the objects that a reconcile wrote."""
        self.written.update(
            (write.kind, write.object) for write in run.writes if not write.skipped and write.verb != "create"
        )

    def is_self_triggered(self, run: ReconcileRecord) -> bool:
        """Returns True if all known triggers of a reconcile are objects written by these reconciles."""
        if not self.written:
            return True
        return all(
            trigger.kind is None or not trigger.object or (trigger.kind, trigger.object) in self.written
            for trigger in run.why
        )


class Pace:
    """The time at which each request may run next."""

    def __init__(self, clock: Clock, min_interval: float) -> None:
        self._clock = clock
        self._min_interval = min_interval
        # False for a controller whose steps depend on the status of objects that it writes.
        self.loop_detection = True
        self._recent: dict[Request, _Recent] = {}
        # The requests that wrote once, with the time and generation: nearly all requests, for a while. Only requests
        # that write again within some seconds are tracked in detail.
        self._once: dict[Request, tuple[float, int]] = {}
        self._most_once = _FEW

    def __len__(self) -> int:
        """The number of tracked requests."""
        return len(self._recent) + len(self._once)

    def wait(self, request: Request) -> float:
        """Returns the seconds that a request must still wait; 0: the request may run."""
        recent = self._recent.get(request)
        if recent is None:
            return 0.0
        return max(recent.not_before - self._clock.monotonic(), 0.0)

    def record_run(self, run: ReconcileRecord, generation: int) -> HotLoop | None:
        """Records the end of a reconcile. Returns the hot loop if this reconcile reveals one."""
        has_written = self.loop_detection and any(not write.skipped for write in run.writes)
        in_circle = has_written and not any(trigger.event in _OUTSIDE for trigger in run.why)
        if not self._min_interval:
            if not in_circle:
                self._record_idle(run.request)
                return None
            if run.request not in self._recent and not self._wrote_before(run, generation):
                return None
        recent = self._recent.setdefault(run.request, _Recent())
        recent.not_before = run.started + self._min_interval
        if in_circle and not recent.is_self_triggered(run):
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
        return self._detect_hot_loop(run, recent)

    def hot_loops(self) -> list[HotLoop]:
        """Returns the requests that are in a hot loop."""
        return [recent.hot for recent in self._recent.values() if recent.hot is not None]

    def discard(self, request: Request) -> None:
        """Drops the state of a request after its object is deleted."""
        self._recent.pop(request, None)
        self._once.pop(request, None)

    def _wrote_before(self, run: ReconcileRecord, generation: int) -> bool:
        """Returns True if an untracked request wrote recently for the same generation."""
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

    def _detect_hot_loop(self, run: ReconcileRecord, recent: _Recent) -> HotLoop | None:
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

    def _record_idle(self, request: Request) -> None:
        """Records a reconcile without a write: ends a hot loop after the quiet period."""
        self._once.pop(request, None)
        recent = self._recent.get(request)
        if recent is None:
            return
        if recent.hot is None or self._clock.monotonic() - recent.writing[-1][0] > QUIET_SECONDS:
            del self._recent[request]
