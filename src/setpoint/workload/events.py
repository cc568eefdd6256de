"""Reports the state changes of workloads: in the log `system` of the object, and as Events of the API.

`kubectl describe` therefore shows the history of an object. Frequent events are aggregated and rate-limited as in
client-go's recorder, so that a crashing process does not flood the API.
"""

from typing import Protocol

from setpoint.controller.recorder import Recorder
from setpoint.objects.tree import Object
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.note_line import ERROR, INFO

RECORDER = "setpoint-workloads"
_API_VERSION = f"{GROUP}/v1"
# The reasons of events that differ from those of conditions.
_REASONS = {"Running": "Started", "LivenessProbeFailed": "Unhealthy", "ProbeFailed": "Unhealthy"}
# Reasons without an event.
_SILENT = frozenset({"NotStarted", "Pending"})
_BAD_STATES = frozenset({"FailedToStart", "Unknown", "RuntimeUnhealthy"})
_BAD_REASONS = frozenset({"BackOff", "Deadlock", "Failed", "LivenessProbeFailed", "ProbeFailed", "TooManyRestarts"})


class Workload(Protocol):
    """A workload with its identity."""

    uid: str
    name: str


class StateReporter:
    """Reports the state changes of the workloads of one control plane. `recorder` is set while events can be
    written."""

    def __init__(self, logs: LogStore) -> None:
        self._logs = logs
        self.recorder: Recorder | None = None

    def report(
        self, kind: str, life: Workload, state: str, reason: str, message: str, *, is_restart: bool = False
    ) -> None:
        """Reports a state change of a workload; `is_restart`: the workload was restarted."""
        is_bad = (state in _BAD_STATES and reason not in ("Stopped", "Suspended")) or reason in _BAD_REASONS
        text = f"{state or 'Pending'} ({reason}): {message}"
        self._logs.note(life.uid, text, kind, ERROR if is_bad else INFO)
        called = "Restarted" if is_restart and reason == "Running" else _REASONS.get(reason, reason)
        self.event(kind, life, called, message, is_bad=is_bad)

    def event(self, kind: str, life: Workload, reason: str, message: str, *, is_bad: bool) -> None:
        """Records an event of a workload."""
        if self.recorder is None or reason in _SILENT:
            return
        about: Object = {
            "apiVersion": _API_VERSION,
            "kind": kind,
            "metadata": {"name": life.name, "uid": life.uid},
        }
        record = self.recorder.warning if is_bad else self.recorder.normal
        record(about, reason, message)
