"""The runs of a task, derived from the workloads that were created for them, and the time of the next run. No I/O.

A run is identified by its scheduled time; each attempt is a separate object, whose name is derived from the run and the
number of the attempt. Runs in the status of the task count only if their objects are deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

import msgspec

from setpoint.objects import meta
from setpoint.objects.cron import Schedule
from setpoint.objects.tree import Object
from setpoint.schema.types import MicroTime
from setpoint.workload.controllers.backoff import next_wait
from setpoint.workload.kinds.api_names import RUN_ARGUMENTS, RUN_REQUEST, STOPPED_BECAUSE
from setpoint.workload.kinds.parts import RestartBackoff
from setpoint.workload.kinds.task import TaskRun, TaskSpec, TaskState
from setpoint.workload.progress import progress

# Annotations of an attempt: the scheduled time of its run, the start time of the run, and the number of the attempt.
SCHEDULED_AT, BEGAN_AT, ATTEMPT = (f"setpoint.dev/{name}" for name in ("scheduled-at", "run-began-at", "task-attempt"))
# The maximum number of missed runs that are counted individually.
_MOST_MISSED = 100
_MINUTE = timedelta(minutes=1)
_OVER = frozenset({"FailedToStart", "Unknown"})


class Ending(NamedTuple):
    """The result of a run."""

    state: TaskState
    reason: str
    message: str
    at: datetime | None


@dataclass(eq=False)
class RunAttempts:
    """One run: the objects of its attempts, the last one at the end."""

    scheduled: MicroTime
    attempts: int = 0
    objects: list[Object] = field(default_factory=list)
    recorded: TaskRun | None = None
    request: str = ""
    # Arguments of the request, appended to those of the task.
    arguments: tuple[str, ...] = ()

    @property
    def last(self) -> Object | None:
        """The object of the last attempt, or None if deleted."""
        found = self.objects[-1] if self.objects else None
        return found if found is not None and _attempt(found) == self.attempts else None

    @property
    def started(self) -> datetime | None:
        """The start time of the first attempt."""
        if self.objects:
            return _moment(meta.annotations(self.objects[-1]).get(BEGAN_AT))
        return self.recorded.start_time if self.recorded is not None else None

    @property
    def name(self) -> str:
        last = self.last
        if last is not None:
            return meta.name(last)
        return self.recorded.name if self.recorded is not None else ""

    @property
    def exit_code(self) -> int | None:
        code: int | None = _status(self.last).get("exitCode")
        return code

    @property
    def is_stopping(self) -> bool:
        """True if a stop of the last attempt was requested."""
        return bool(self.last is not None and self.last["spec"].get("stop"))

    def deadline(self, spec: TaskSpec) -> datetime | None:
        """Returns the time by which the run must end, or None."""
        if spec.active_deadline is None or self.started is None:
            return None
        return self.started + spec.active_deadline

    def retry_at(self, spec: TaskSpec) -> datetime | None:
        """Returns the time of the attempt that follows the failed one, or None if there is no further attempt."""
        if self.is_stopping or self.attempts > spec.backoff_limit:
            return None
        template = spec.template.executable or spec.template.container
        backoff = (template.restart_backoff if template is not None else None) or RestartBackoff()
        wait = None
        for _ in range(self.attempts):
            wait = next_wait(wait, backoff, 0)
            if wait >= backoff.max:
                break
        return (self._failed_at or self.scheduled) + (wait or timedelta())

    @property
    def _failed_at(self) -> datetime | None:
        return _moment(_status(self.last).get("finishTimestamp")) or self.started

    @property
    def has_failed(self) -> bool:
        """True if the last attempt has failed."""
        return self.last is None or (is_over(self.last) and not self.has_succeeded)

    @property
    def has_succeeded(self) -> bool:
        return self.last is not None and not self.is_stopping and progress(self.last).succeeded

    def ending(self, spec: TaskSpec, now: datetime) -> Ending | None:
        """Returns the result of the run, or None if the run is active or will be retried."""
        if self.has_succeeded:
            return Ending("Succeeded", "Succeeded", "the run ended with exit code 0", self._failed_at)
        if not self.has_failed:
            return None
        if self.is_stopping:
            reason, message = _why_stopped(self.last)
            return Ending("Failed", reason, message, self._failed_at)
        said = _failure_message(self.last) if self.last is not None else f"{self.name} was deleted while running"
        deadline = self.deadline(spec)
        retry = self.retry_at(spec)
        if retry is None:
            tried = f" (attempt {self.attempts}, the last one)" if self.attempts > 1 else ""
            return Ending("Failed", "Failed", f"{said}{tried}", self._failed_at)
        if deadline is not None and now >= deadline:
            return Ending(
                "Failed", "DeadlineExceeded", f"{said}; activeDeadline leaves no time for another attempt", deadline
            )
        return None

    def report(self, ending: Ending | None) -> TaskRun:
        """Returns the entry for the status of the task."""
        started, ended = self.started, ending.at if ending is not None else None
        return TaskRun(
            name=self.name,
            state=ending.state if ending is not None else "Running",
            scheduled_time=self.scheduled,
            start_time=None if started is None else MicroTime.of(started),
            finish_time=None if ended is None else MicroTime.of(ended),
            attempts=self.attempts,
            exit_code=self.exit_code,
            message=ending.message if ending is not None and ending.state == "Failed" else "",
            request=self.request,
        )


def runs_of(children: Iterable[Object], recorded: Sequence[TaskRun]) -> list[RunAttempts]:
    """Returns the runs of a task, the oldest first."""
    found: dict[MicroTime, RunAttempts] = {}
    for tree in sorted(children, key=_attempt):
        text = meta.annotations(tree).get(SCHEDULED_AT, "")
        if not text or (meta.is_being_deleted(tree) and is_over(tree)):
            continue
        run = found.setdefault(scheduled := MicroTime.parse(text), RunAttempts(scheduled))
        run.objects.append(tree)
        run.attempts = max(run.attempts, _attempt(tree))
        run.request = meta.annotations(tree).get(RUN_REQUEST, "")
        with suppress(ValueError):
            run.arguments = arguments_of(tree)
    for each in recorded:
        if each.scheduled_time is None:
            continue
        known = found.get(each.scheduled_time)
        if known is None and each.state == "Running":
            known = found[each.scheduled_time] = RunAttempts(each.scheduled_time, request=each.request)
        if known is not None:
            known.recorded = each
            known.attempts = max(known.attempts, each.attempts)
    return sorted(found.values(), key=lambda run: run.scheduled)


def surplus(runs: Sequence[tuple[RunAttempts, Ending | None]], spec: TaskSpec) -> Iterator[RunAttempts]:
    """Yields the runs beyond the history limits whose result is already in the status, so that no result is lost."""
    for state, limit in (("Succeeded", spec.successful_history_limit), ("Failed", spec.failed_history_limit)):
        ended = [run for run, ending in runs if ending is not None and ending.state == state]
        for run in ended[: max(len(ended) - limit, 0)]:
            if run.recorded is not None and run.recorded.state == state:
                yield run


class Due(NamedTuple):
    """A run that is due, and the number of missed runs before it."""

    at: datetime
    missed: int = 0


def due(schedule: Schedule, since: datetime, now: datetime, zone: tzinfo) -> Due | None:
    """Returns the last scheduled time since `since`, or None; of several missed times only the last is returned."""
    if schedule.every:
        times = (now - since) // schedule.every
        return Due(since + times * schedule.every, times - 1) if times > 0 else None
    following, missed = schedule.next_after(since, zone), -1
    last = None
    while following is not None and following <= now:
        last, missed = following, missed + 1
        if missed >= _MOST_MISSED:
            return Due(_last_before(schedule, now, zone, last), missed)
        following = schedule.next_after(following, zone)
    return None if last is None else Due(last, missed)


def _last_before(schedule: Schedule, now: datetime, zone: tzinfo, known: datetime) -> datetime:
    """Returns the last scheduled time up to now, searched backwards from now, because there may be many since the known
    one."""
    span, found = _MINUTE, None
    while found is None or found > now:
        if now - span <= known:
            return known
        span *= 2
        found = schedule.next_after(now - span, zone)
    while (following := schedule.next_after(found, zone)) is not None and following <= now:
        found = following
    return found


def is_over(tree: Object) -> bool:
    """Returns True if an attempt has ended, or failed to start."""
    return progress(tree).finished or _status(tree).get("state") in _OVER


def arguments_of(tree: Object) -> tuple[str, ...]:
    """Returns the arguments of a request for a run, from an annotation of the task or attempt with a JSON list of
    strings. Raises ValueError."""
    text = meta.annotations(tree).get(RUN_ARGUMENTS, "")
    if not text:
        return ()
    try:
        return msgspec.json.decode(text, type=tuple[str, ...])
    except msgspec.DecodeError:
        raise ValueError(f"the annotation {RUN_ARGUMENTS} is not a JSON list of strings: {text}") from None


def _status(tree: Object | None) -> Object:
    return (tree or {}).get("status") or {}


def _attempt(tree: Object) -> int:
    return int(meta.annotations(tree).get(ATTEMPT, "1"))


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _why_stopped(tree: Object | None) -> tuple[str, str]:
    reason, _, message = meta.annotations(tree or {}).get(STOPPED_BECAUSE, "").partition(": ")
    return reason or "Stopped", message or "the run was stopped"


def _failure_message(tree: Object) -> str:
    """Returns the failure message of an attempt."""
    messages = {each["type"]: each.get("message", "") for each in _status(tree).get("conditions") or ()}
    text: str = messages.get("Started") or messages.get("Ready") or progress(tree).says
    return text
