"""A summary of a controller in one row: queue length, speed, error rate and current problems.

The figures cover the reconciles that the controller keeps, and thus the recent past. Reading has no side effects.
"""

from collections.abc import Sequence

import msgspec

from setpoint.controller.controller import Controller
from setpoint.controller.reconciles import primary_kind
from setpoint.controller.run_record import ERROR, TERMINAL, TIMEOUT, ReconcileRecord

_MINUTE = 60.0
_FAILED = (ERROR, TERMINAL, TIMEOUT)
RUNNING, WAITING, PAUSED, STOPPED = "Running", "Waiting", "Paused", "Stopped"
LOADING, FAILED, BLOCKED = "Loading", "Failed", "Blocked"


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The summary of a controller."""

    name: str
    # The reconciled kind, in the notation of `kubectl`; empty without a kind.
    kind: str = ""
    # Running, Waiting (sources are not synced yet), Paused, Stopped, Loading, Failed, Blocked (by its code).
    state: str = RUNNING
    # The number of due objects.
    queue: int = 0
    rate_per_minute: float = 0.0
    p50_seconds: float = 0.0
    p99_seconds: float = 0.0
    error_percent: float = 0.0
    # The number of kept reconciles, and of those that failed.
    recorded: int = 0
    errors: int = 0
    # The waiting time of the object that has been due longest.
    lag_seconds: float = 0.0
    # Problems that need attention, in a sentence; empty: none.
    note: str = ""
    # The file or module of the controller; empty for controllers of the control plane.
    module: str = ""


def overview(controller: Controller) -> Row:
    """Returns the current summary of a controller."""
    runs = list(controller.runs)
    errors = sum(run.result in _FAILED for run in runs)
    took = sorted(run.seconds for run in runs)
    return Row(
        name=controller.name,
        kind=primary_kind(controller),
        state=_state(controller),
        queue=len(controller.queue),
        rate_per_minute=_rate(runs, controller.clock.monotonic(), controller.runs.maxlen),
        p50_seconds=percentile(took, 0.5),
        p99_seconds=percentile(took, 0.99),
        error_percent=100.0 * errors / len(runs) if runs else 0.0,
        recorded=len(runs),
        errors=errors,
        lag_seconds=controller.queue.longest_wait(),
        note="; ".join(_notes(controller)),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the value below which the share of the sorted values lies; 0 for no values."""
    return values[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _state(controller: Controller) -> str:
    if controller.paused:
        return PAUSED
    if controller.working:
        return RUNNING
    return WAITING if controller.problems or not controller.synced else STOPPED


def _rate(runs: Sequence[ReconcileRecord], now: float, kept: int | None) -> float:
    """Returns the reconciles per minute: the count of the last minute, or extrapolated if fewer are kept."""
    recent = [run for run in runs if run.started > now - _MINUTE]
    if recent and len(recent) == len(runs) == kept:
        return _MINUTE * len(recent) / max(now - recent[0].started, 1e-3)
    return float(len(recent))


def _notes(controller: Controller) -> list[str]:
    notes = [f"{each.run.request} is stuck: cancelled, but still running" for each in controller.stuck()]
    for loop in controller.hot_loops():
        what = f"keeps changing {loop.fields[0]}" if loop.fields else "writes in each reconcile"
        notes.append(f"hot loop: {loop.request} {what} ({loop.runs}× in a row); slowed down")
    notes += controller.problems
    notes += _failing(controller)
    if controller.suspended:
        notes.append(f"{len(controller.suspended)} suspended")
    return notes


def _failing(controller: Controller) -> list[str]:
    """Reports the number of failing objects, and the newest failure."""
    failed = [run for run in list(controller.last_runs.values()) if run.result in _FAILED]
    if not failed:
        return []
    last = max(failed, key=lambda run: run.started)
    why = " ".join(f"{type(last.error).__name__}: {last.error}".split()) if last.error is not None else last.result
    return [f"{last.request} fails{f', with {len(failed) - 1} more' if failed[1:] else ''}: {why}"]
