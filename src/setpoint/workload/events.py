"""What becomes of workloads, told to people: in the log `system` of the object, and as Events of the API.

So `kubectl describe` tells the story of an object. Events that come too thick are combined and held back as those of
client-go's own recorder, so that a process that ends all the time fills nothing.
"""

from typing import Protocol

from setpoint.controller.recorder import Recorder
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.logs.store import LogStore

RECORDER = "setpoint-workloads"
_API_VERSION = f"{GROUP}/v1"
# What an event calls it, where that is another word than a condition has.
_REASONS = {"Running": "Started", "LivenessProbeFailed": "Unhealthy", "ProbeFailed": "Unhealthy"}
# That nothing happens is no event.
_SILENT = frozenset({"NotStarted", "Pending"})
_BAD_STATES = frozenset({"FailedToStart", "Unknown", "RuntimeUnhealthy"})
_BAD_REASONS = frozenset({"BackOff", "Deadlock", "Failed", "LivenessProbeFailed", "ProbeFailed", "TooManyRestarts"})


class Life(Protocol):
    """A workload, as its controller knows it."""

    uid: str
    name: str


class Telling:
    """Tells what becomes of the workloads of one control plane. `recorder` is there while events can be written."""

    def __init__(self, logs: LogStore) -> None:
        self._logs = logs
        self.recorder: Recorder | None = None

    def tell(self, kind: str, life: Life, state: str, reason: str, message: str, *, again: bool = False) -> None:
        """A workload has come to another state; `again`: it is not its first life."""
        self._logs.note(life.uid, f"{state or 'Pending'} ({reason}): {message}")
        is_bad = (state in _BAD_STATES and reason not in ("Stopped", "Suspended")) or reason in _BAD_REASONS
        called = "Restarted" if again and reason == "Running" else _REASONS.get(reason, reason)
        self.event(kind, life, called, message, is_bad=is_bad)

    def event(self, kind: str, life: Life, reason: str, message: str, *, is_bad: bool) -> None:
        """Records that something happened to a workload."""
        if self.recorder is None or reason in _SILENT:
            return
        about: Object = {
            "apiVersion": _API_VERSION,
            "kind": kind,
            "metadata": {"name": life.name, "uid": life.uid},
        }
        record = self.recorder.warning if is_bad else self.recorder.normal
        record(about, reason, message)
