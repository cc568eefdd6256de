"""The crashes and restarts of a workload, from its status and its history. Pure functions of the facts.

A process that crashes again and again runs for a moment after each restart, and its probes fail meanwhile. The root
cause is the crash; its message is in an earlier revision of the status.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from setpoint.objects import conditions, meta
from setpoint.objects.tree import Object
from setpoint.past.revision import Revision
from setpoint.past.why.facts import Facts
from setpoint.past.why.times import ago, moment_of
from setpoint.workload.kinds.api_names import DISPLAY_NAME

_CRASHES = ("BackOff", "Failed", "TooManyRestarts")
_NEXT = "; next restart in"


class Crash(NamedTuple):
    """The last end of a process that was not requested, and the number of restarts."""

    message: str
    at: datetime | None
    restarts: int

    def text(self, now: datetime) -> str:
        """Returns the crash with its time."""
        when = f", {ago(now, self.at)}" if self.at is not None else ""
        often = f" (restarted {self.restarts}\N{MULTIPLICATION SIGN}{when})" if self.restarts or when else ""
        return f"{self.message}{often}"


def last_crash(facts: Facts) -> Crash | None:
    """Returns the crash of a workload that runs again but is not ready; None if its last end was requested, or is
    reported by the current status."""
    status = (facts.tree or {}).get("status") or {}
    is_again = status.get("state") in ("Starting", "Running") and status.get("exitCode") is None
    if not is_again or not status.get("lastExitCode") or status.get("restartReason"):
        return None
    for revision in reversed(facts.history):
        ready = conditions.of(revision.raw or {}, "Started", "Ready")
        if ready.get("reason") in _CRASHES and ready.get("message"):
            message = str(ready["message"]).partition(_NEXT)[0]
            return Crash(message, _ended_at(revision), status.get("restartCount") or 0)
    return None


def last_end(facts: Facts) -> str:
    """Returns the time of the last end of a process that runs again; empty if unknown."""
    for revision in reversed(facts.history):
        ended = ((revision.raw or {}).get("status") or {}).get("finishTimestamp")
        if isinstance(ended, str):
            return ended
    return ""


def restart_reasons(facts: Facts) -> Iterator[str]:
    """Yields the reason of the current run of a workload, or of the replicas of a set, such as a changed file."""
    if facts.tree is not None and (found := _reason(facts.tree)):
        reason, at = found
        yield f"was restarted {ago(facts.now, at)}: {reason}" if at is not None else f"was restarted: {reason}"
    named: dict[str, list[tuple[str, datetime | None]]] = {}
    for each in facts.owned:
        if each.tree is not None and (found := _reason(each.tree)):
            named.setdefault(found[0], []).append((called(each.tree), found[1]))
    for reason, replicas in named.items():
        times = [at for _, at in replicas if at is not None]
        when = f" {ago(facts.now, max(times))}" if times else ""
        names = " and ".join(sorted(name for name, _ in replicas))
        yield f"{names} {'was' if len(replicas) == 1 else 'were'} restarted{when}: {reason}"


def _reason(tree: Object) -> tuple[str, datetime | None] | None:
    status = tree.get("status") or {}
    reason = status.get("restartReason")
    return (str(reason), moment_of(status.get("startupTimestamp") or "")) if reason else None


def called(tree: Object) -> str:
    """Returns the display name of a replica, such as `api.2`."""
    name, _, number = meta.annotations(tree).get(DISPLAY_NAME, "").rpartition("-")
    return f"{name}.{number}" if name else meta.name(tree)


def _ended_at(revision: Revision) -> datetime | None:
    ended = ((revision.raw or {}).get("status") or {}).get("finishTimestamp")
    return moment_of(ended) if isinstance(ended, str) else revision.time
