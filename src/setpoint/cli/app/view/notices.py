"""Selects and formats the messages about parts. Pure functions.

While the app starts, every step is reported. Later, only restarts with their reasons, failures with the time of the
next attempt, and recoveries are reported.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from setpoint.cli.app.view.part_record import News, Track, first_line, rounded_up
from setpoint.cli.app.view.status_text import PartStatus

# A state that lasts longer than this is reported while it lasts; a shorter one only when it ends.
_LONG = timedelta(seconds=2)
# A part without probe is reported as ready after this time, because a faulty program may run for a moment. Removals are
# delayed, too: when the whole app stops, single parts are not reported.
_LASTING = timedelta(seconds=1)


def at_first(track: Track, before: PartStatus, seconds: float | None, now: datetime) -> Iterator[News]:
    """Yields the messages of the starting phase. `seconds` is the duration of the start."""
    how, name = track.how, track.part.name
    if _notable(how) == _notable(before) or how.phase == "absent":
        return
    if how.phase in ("failing", "failed"):
        yield failure(track, now)
    else:
        took = f" ({seconds:.1f}s)" if seconds is not None and how.phase in ("ready", "done") else ""
        yield News(f"{name} {how.text}{took}", how.meaning)


def _notable(how: PartStatus) -> tuple[str, str, str]:
    """Returns the aspects of a state that are worth a message. Progress numbers and delays are not."""
    text = how.text.partition(" ")[0] if how.phase in ("starting", "failing", "restarting") else how.text
    return how.phase, text, str(how.due) if how.phase == "failing" else ""


def later(track: Track, before: PartStatus, ready_at: datetime, now: datetime) -> Iterator[News]:
    """Yields the messages of the running phase. `ready_at` is the time since when the part is ready."""
    how, name = track.how, track.part.name
    if how == before:
        return
    if how.phase in ("ready", "done"):
        if before.phase not in ("ready", "done") or not how.is_same_run(before):
            track.held, track.held_at = News(_good(track, before, ready_at), "good"), now
        return
    track.held = None
    if how.phase in ("failing", "failed"):
        if (how.replica, how.due) not in track.reported_failures:
            track.reported_failures.add((how.replica, how.due))
            track.is_failure_reported = True
            yield failure(track, now)
    elif how.phase != before.phase:
        if how.phase == "unready":
            track.is_failure_reported = True
            yield News(f"{name} is not ready: {first_line(how.why)} · setpoint why {name}", "bad")
        elif how.phase == "stopped":
            yield News(f"{name} stopped")
        elif how.phase == "absent":
            track.held, track.held_at = News(f"{name} removed"), now


def _good(track: Track, before: PartStatus, ready_at: datetime) -> str:
    how, name, left = track.how, track.part.name, track.left_at
    took = f" ({(ready_at - left).total_seconds():.1f}s)" if left is not None else ""
    if track.is_failure_reported:
        return f"{name} {how.text} again{'' if how.is_same_run(before) else _because(track)}"
    if how.phase == "done":
        return f"{name} {how.text}{took}"
    return f"{name} restarted{_because(track)}{took}" if track.since_well == "restarted" else f"{name} {how.text}"


def lasting(track: Track, now: datetime) -> Iterator[News]:
    """Yields the messages that were delayed until the state lasted: recoveries and long transitions."""
    how = track.how
    if (
        track.held is not None
        and track.held_at is not None
        and (_is_confirmed(track) or now - track.held_at >= _LASTING)
    ):
        yield track.held
        track.held, track.left_at, track.since_well, track.is_failure_reported = None, None, "", False
        track.reported_failures.clear()
    if how.phase in ("starting", "restarting", "waiting") and not track.is_delay_reported and is_long(track, now):
        track.is_delay_reported = True
        yield News(f"{track.part.name} is {how.text}{_because(track)}", "pending")


def _is_confirmed(track: Track) -> bool:
    """Returns True if a probe has confirmed the state, or the part is done."""
    spec = track.workload.tree["spec"] if track.workload is not None else {}
    inner = (spec.get("template") or {}).get("spec") or spec
    return track.how.phase == "done" or bool(inner.get("healthProbes"))


def is_long(track: Track, now: datetime) -> bool:
    """Returns True if the part has been in its state for a while."""
    return track.since is not None and now - track.since >= _LONG


def failure(track: Track, now: datetime) -> News:
    """Returns the message about a failure, with the time of the next attempt. A permanent failure is explained
    further.
    """
    how, name = track.how, track.part.name
    end = how.end or first_line(how.why) or "failed to start"
    if how.phase == "failed":
        return News(f"{how.replica or name} failed: {end} · setpoint why {name}", "bad", name)
    left = (how.due - now).total_seconds() if how.due is not None else 0.0
    wait = f"; next try in {rounded_up(left)}s" if left > 0 else ""
    return News(f"{how.replica or name} failed: {end}{wait} · setpoint why {name}", "bad")


def _because(track: Track) -> str:
    """Returns the reason of the last or current restart."""
    workload = track.workload
    if track.how.phase == "restarting" or workload is None:
        reason = track.how.why
    else:
        # The reason of the replica that started last.
        last = max((workload, *workload.children), key=lambda each: each.status.get("startupTimestamp") or "")
        reason = last.status.get("restartReason", "")
    return f": {first_line(reason)}" if reason else ""
