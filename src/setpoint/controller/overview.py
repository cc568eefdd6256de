"""How a controller does, in one row: how much waits, how fast it works, how often it fails, and what is the matter.

The figures are those of the reconciles that it remembers, and so of lately. Reading them changes nothing.
"""

from collections.abc import Sequence

import msgspec

from setpoint.controller.controller import Controller
from setpoint.controller.reconciles import primary_kind
from setpoint.controller.run_record import ERROR, TERMINAL, TIMEOUT, Run

_MINUTE = 60.0
_FAILED = (ERROR, TERMINAL, TIMEOUT)
RUNNING, WAITING, PAUSED, STOPPED = "Running", "Waiting", "Paused", "Stopped"
LOADING, FAILED, BLOCKED = "Loading", "Failed", "Blocked"


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A controller, as people look at it."""

    name: str
    # The kind whose objects it reconciles, as `kubectl` would say it; empty where it is for none.
    kind: str = ""
    # Running, Waiting (not everything could be read yet), Paused, Stopped, Loading, Failed, Blocked (by its code).
    state: str = RUNNING
    # How many objects are due.
    queue: int = 0
    rate_per_minute: float = 0.0
    p50_seconds: float = 0.0
    p99_seconds: float = 0.0
    error_percent: float = 0.0
    # For how long the object that has been due longest has waited.
    lag_seconds: float = 0.0
    # What somebody should know, in a sentence; empty: all is well.
    note: str = ""
    # The file or module that it is from; empty for what comes with the control plane.
    module: str = ""


def overview(controller: Controller) -> Row:
    """The row of a controller, at this moment."""
    runs = list(controller.runs)
    took = sorted(run.seconds for run in runs)
    return Row(
        name=controller.name,
        kind=primary_kind(controller),
        state=_state(controller),
        queue=len(controller.queue),
        rate_per_minute=_rate(runs, controller.clock.monotonic(), controller.runs.maxlen),
        p50_seconds=percentile(took, 0.5),
        p99_seconds=percentile(took, 0.99),
        error_percent=100.0 * sum(run.result in _FAILED for run in runs) / len(runs) if runs else 0.0,
        lag_seconds=controller.queue.longest_wait(),
        note="; ".join(_notes(controller)),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of sorted values lies; 0 where there are none."""
    return values[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _state(controller: Controller) -> str:
    if controller.paused:
        return PAUSED
    if controller.working:
        return RUNNING
    return WAITING if controller.troubles or not controller.synced else STOPPED


def _rate(runs: Sequence[Run], now: float, kept: int | None) -> float:
    """Reconciles a minute: those of the last one; where fewer are remembered, as fast as these came."""
    recent = [run for run in runs if run.started > now - _MINUTE]
    if recent and len(recent) == len(runs) == kept:
        return _MINUTE * len(recent) / max(now - recent[0].started, 1e-3)
    return float(len(recent))


def _notes(controller: Controller) -> list[str]:
    notes = [f"{each.run.request} does not end although it was told to" for each in controller.stuck()]
    for loop in controller.hot_loops():
        what = f"keeps changing {loop.fields[0]}" if loop.fields else "writes again each time it comes back"
        notes.append(f"hot loop: {loop.request} {what} ({loop.runs}× in a row); it is slowed down")
    notes += controller.troubles
    notes += _failing(controller)
    if controller.suspended:
        notes.append(f"{len(controller.suspended)} left alone, as they ask")
    return notes


def _failing(controller: Controller) -> list[str]:
    """Which objects it does not get on with, by the newest of them."""
    failed = [run for run in list(controller.last_runs.values()) if run.result in _FAILED]
    if not failed:
        return []
    last = max(failed, key=lambda run: run.started)
    why = " ".join(f"{type(last.error).__name__}: {last.error}".split()) if last.error is not None else last.result
    return [f"{last.request} fails{f', with {len(failed) - 1} more' if failed[1:] else ''}: {why}"]
