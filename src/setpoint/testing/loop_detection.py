"""Finds objects that controllers reconcile again and again without a reason from outside.

A reconcile continues a streak if its start was less than a second after the previous one of the same object, and each
of its triggers is a change that a controller of the world wrote, or a requeue of less than a second. Any other trigger
(a change by the test, a timer, a request) begins a new streak. An object that triggers more reconciles than the limit
within one streak is in a loop, whichever controllers take part. Retries after a failure do not count: their backoff
grows.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from setpoint.controller.request import Request, Trigger
from setpoint.controller.run_record import ReconcileRecord

# The seconds between two reconciles that end a streak.
GAP_SECONDS = 1.0
# The number of versions whose writers are remembered.
_MOST_VERSIONS = 4096
_REQUEUE = "a requeue without a pause"
# Triggers that neither continue nor end a streak.
_NEUTRAL = frozenset({"retry", "deleted"})


@dataclass
class _Streak:
    started: float = 0.0
    # The number of reconciles that each object triggered, and the names of the controllers that wrote these objects.
    counts: Counter[str] = field(default_factory=Counter)
    writers: dict[str, None] = field(default_factory=dict)
    requeue_after: float | None = None
    is_reported: bool = False


class LoopDetector:
    """Counts the reconciles of each object."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._streaks: dict[tuple[str, Request], _Streak] = {}
        # The writers of the last versions; empty for the test.
        self._writers: OrderedDict[str, str] = OrderedDict()

    def record_write(self, version: str, controller: str = "") -> None:
        """Records that a controller, or the test, wrote a version."""
        # A write without an effect returns an existing version.
        self._writers.setdefault(version, controller)
        if len(self._writers) > _MOST_VERSIONS:
            self._writers.popitem(last=False)

    def record_run(self, run: ReconcileRecord) -> str:
        """Records the end of a reconcile. Returns the description of a loop if this reconcile reveals one."""
        streak = self._streaks.setdefault((run.controller, run.request), _Streak())
        triggers = {name for trigger in run.why if (name := self._trigger(trigger, streak)) is not None}
        has_gap = run.started - streak.started >= GAP_SECONDS
        streak.started, streak.requeue_after = run.started, run.requeue_after
        if has_gap or "" in triggers:
            streak.counts.clear()
            streak.writers.clear()
            streak.is_reported = False
            return ""
        streak.counts.update(triggers)
        [(name, number)] = streak.counts.most_common(1) or [("", 0)]
        if number <= self.limit or streak.is_reported:
            return ""
        streak.is_reported = True
        changed = ", ".join(sorted({path for trigger in run.why for path in trigger.fields}))
        return f"{name} triggered {number} reconciles in a row{f' by changes of {changed}' if changed else ''}"

    def writers(self, controller: str, request: Request) -> list[str]:
        """Returns the controllers with writes that triggered the last reconciles of an object."""
        return list(self._streaks.get((controller, request), _Streak()).writers)

    def _trigger(self, trigger: Trigger, streak: _Streak) -> str | None:
        """Returns the name of a trigger that continues a streak; empty for one from outside, None for a neutral one."""
        if trigger.event in _NEUTRAL:
            return None
        if trigger.event == "requeue":
            return _REQUEUE if (streak.requeue_after or 0.0) < GAP_SECONDS else ""
        writer = self._writers.get(trigger.resource_version) if trigger.event in ("created", "updated") else None
        if not writer or trigger.kind is None:
            return ""
        streak.writers[writer] = None
        # A loop may create objects with ever new names.
        return f"{trigger.kind.kind} {trigger.object if trigger.event == 'updated' else 'objects'}"
