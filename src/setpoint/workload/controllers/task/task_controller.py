"""The controller of Tasks: runs each task to its end, once or by a schedule, retries failed attempts, and reports the
result.

Each attempt is an Executable or a Container, so that its log and exit code are available as for other workloads. All
state is in objects: another control plane can continue.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from setpoint.client.kinds import tree_of
from setpoint.client.patches import merge
from setpoint.controller.child_names import child_name
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.request import Request, Result
from setpoint.objects import meta
from setpoint.objects.cron import ScheduleError
from setpoint.objects.errors import AlreadyExists, Invalid, NotFound
from setpoint.objects.tree import Object
from setpoint.schema.types import MicroTime, ObjectMeta
from setpoint.workload.controllers.children import OWNER_LABEL, children, delete_all
from setpoint.workload.controllers.lookup import READS
from setpoint.workload.controllers.task import task_runs
from setpoint.workload.controllers.task.task_runs import Due, Ending, RunAttempts, runs_of, surplus
from setpoint.workload.dependencies import WAITING, waiting_for, waiting_message
from setpoint.workload.kinds.api_names import (
    FINALIZERS,
    RESTART_REQUESTED,
    RUN_ARGUMENTS,
    RUN_REQUEST,
    STOPPED_BECAUSE,
    TASK,
)
from setpoint.workload.kinds.container import Container, ContainerSpec
from setpoint.workload.kinds.executable import Executable, ExecutableSpec
from setpoint.workload.kinds.task import Task, TaskState, TaskStatus
from setpoint.workload.runtime import Machine
from setpoint.workload.schedule import parse_schedule, parse_zone
from setpoint.workload.templates import escaped

FINALIZER = FINALIZERS["Task"]
# The number of attempts of a run whose objects and logs are kept.
_MOST_ATTEMPTS = 10
# The reasons why a task is not ready even if its last run succeeded: its next run cannot start.
_INVALID = ("InvalidSchedule", "InvalidTemplate", "InvalidRequest")

S = TypeVar("S", ExecutableSpec, ContainerSpec)


@dataclass
class _TaskState:
    """The state of a task that is not stored in its objects."""

    uid: str
    # The last observed request for a run, and the last one that was started or skipped.
    seen: str
    obeyed: str
    # The time and arguments of a request that has not started yet.
    requested: datetime | None = None
    arguments: tuple[str, ...] = ()
    # The error of the last request.
    problem: str = ""


@dataclass
class _TaskReport:
    """The reason and message of a reconcile that do not follow from the runs."""

    reason: str = ""
    message: str = ""
    next: datetime | None = None
    last: datetime | None = None


class Tasks:
    """The controller of Tasks."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._clock = machine, machine.clock
        self._states: dict[str, _TaskState] = {}
        self.controller = Controller(
            "task",
            self._reconcile,
            kind=Task,
            clock=machine.clock,
            ids=machine.ids,
            owns=(Executable, Container),
            reads=READS,
            concurrency=4,
        )

    async def _reconcile(self, ctx: Context, request: Request) -> Result | None:
        obj: Task | None = await ctx.object()
        if obj is None:
            self._states.pop(request.name, None)
            return None
        uid = obj.metadata.uid or ""
        await ctx.load_status()
        if await ctx.finalize(FINALIZER, partial(delete_all, ctx, [Executable, Container], uid)):
            return None
        now = self._clock.now()
        known = self._knowledge(obj)
        runs = runs_of(await _attempts(ctx, uid), obj.status.runs if obj.status is not None else [])
        report = _TaskReport(last=obj.status.last_schedule_time if obj.status is not None else None)
        try:
            await self._reconcile_runs(ctx, obj, runs, now)
            await self._begin(ctx, obj, known, runs, now, report)
        except Invalid as error:
            report.reason, report.message = "InvalidTemplate", f"{error}; correct spec.template"
        if known.problem:
            report.reason, report.message = "InvalidRequest", known.problem
        ends = [(run, run.ending(obj.spec, now)) for run in runs]
        gone = list(surplus(ends, obj.spec))
        for run in gone:
            await _delete(ctx, run.objects)
        for run in runs:
            await _delete(ctx, run.objects[:-_MOST_ATTEMPTS])
        _report(ctx, obj, known, [(run, end) for run, end in ends if run not in gone], report)
        moments = [*_wakes(obj, ends), *([report.next] if report.next is not None else [])]
        return Result(requeue_after=max((min(moments) - now).total_seconds(), 0.001) if moments else None)

    def _knowledge(self, obj: Task) -> _TaskState:
        name, uid = obj.metadata.name or "", obj.metadata.uid or ""
        request = (obj.metadata.annotations or {}).get(RESTART_REQUESTED, "")
        known = self._states.get(name)
        if known is None or known.uid != uid:
            obeyed = obj.status.observed_restart if obj.status is not None else ""
            known = self._states[name] = _TaskState(uid, obeyed, obeyed)
        if not request and known.requested is not None:
            known.requested = None  # the request was withdrawn
        if request and request != known.seen:
            known.seen, known.problem = request, ""
            try:
                known.arguments = task_runs.arguments_of(tree_of(obj))
                known.requested = self._clock.now()
            except ValueError as error:
                known.obeyed, known.problem = request, str(error)
        return known

    # Active runs

    async def _reconcile_runs(self, ctx: Context, obj: Task, runs: Sequence[RunAttempts], now: datetime) -> None:
        """Retries failed runs, and stops runs that exceed their deadline. Raises Invalid."""
        for run in runs:
            if run.ending(obj.spec, now) is not None:
                continue
            deadline = run.deadline(obj.spec)
            if run.has_failed:
                retry = run.retry_at(obj.spec)
                if retry is not None and retry <= now:
                    await _attempt(ctx, obj, run)
            elif deadline is not None and deadline <= now and not run.is_stopping:
                await _stop(
                    ctx, run, f"DeadlineExceeded: the run took longer than activeDeadline, {obj.spec.active_deadline}"
                )

    # The next run

    async def _begin(
        self, ctx: Context, obj: Task, known: _TaskState, runs: list[RunAttempts], now: datetime, report: _TaskReport
    ) -> None:
        """Starts a run that is due, or sets the reason why the run does not start. Raises Invalid."""
        found = self._due(obj, known, runs, now, report)
        if found is None:
            return
        under_way = [run for run in runs if run.ending(obj.spec, now) is None]
        if any(run.scheduled == found.at for run in runs):
            pass  # started by a control plane that was killed before its status update
        elif under_way and obj.spec.concurrency_policy == "Forbid":
            report.reason, report.message = (
                "Skipped",
                f"the run due at {found.at:%H:%M:%S} was skipped: another run was active",
            )
        elif under_way and obj.spec.concurrency_policy == "Replace":
            for run in under_way:
                if not run.is_stopping:
                    await _stop(ctx, run, "Replaced: the next run was due")
            return  # the run starts when they have ended
        else:
            if waiting := waiting_for({**tree_of(obj), "kind": "Task"}, self._machine.lookup(find=ctx.lookup).object):
                report.reason, report.message = WAITING, waiting_message(waiting)
                return
            run = RunAttempts(MicroTime.of(found.at))
            if known.requested is not None:
                run.request, run.arguments = known.seen, known.arguments
            await _attempt(ctx, obj, run)
            runs.append(run)
            if found.missed:
                report.message = f"{found.missed} runs before it were missed"
        if known.requested is not None:
            known.requested, known.obeyed = None, known.seen
        elif obj.spec.schedule:
            report.last = found.at

    def _due(
        self, obj: Task, known: _TaskState, runs: Sequence[RunAttempts], now: datetime, report: _TaskReport
    ) -> Due | None:
        """Returns the run that is due now, and sets the time of the next one in `said`."""
        made = obj.metadata.creation_timestamp or now
        found = None
        if not obj.spec.schedule:
            has_run = runs or (obj.status is not None and obj.status.state not in (None, "Pending"))
            found = None if has_run else Due(made)
        else:
            try:
                schedule, zone = parse_schedule(obj.spec.schedule), parse_zone(obj.spec.time_zone)
            except ScheduleError as error:
                report.reason, report.message = "InvalidSchedule", f"{error}; correct spec.schedule and spec.timeZone"
                return None if known.requested is None else Due(known.requested)
            found = task_runs.due(schedule, report.last or made, now, zone)
            # An interval counts from the last run, not from now.
            since = (report.last or made) if found is None else found.at
            report.next = schedule.next_after(since if schedule.every else now, zone)
            if report.next is None:
                report.reason, report.message = (
                    "NeverDue",
                    "the schedule never matches a date; correct spec.schedule",
                )
        if known.requested is not None:
            return Due(known.requested)
        if obj.spec.suspend:
            report.reason, report.message = (
                "Suspended",
                f"the task is suspended and runs only on request: `setpoint run {obj.metadata.name}`",
            )
            if found is not None and obj.spec.schedule:
                report.last = found.at  # runs due during the suspension are not started later
            return None
        return found


def _wakes(obj: Task, ends: Sequence[tuple[RunAttempts, Ending | None]]) -> Iterator[datetime]:
    """Yields the times at which a run needs another reconcile."""
    for run, ending in ends:
        if ending is not None:
            continue
        deadline = run.deadline(obj.spec)
        if deadline is not None and not run.is_stopping:
            yield deadline
        if run.has_failed and (retry := run.retry_at(obj.spec)) is not None:
            yield retry


# The objects of runs


async def _attempts(ctx: Context, uid: str) -> list[Object]:
    found = []
    for kind in (Executable, Container):
        found += [{**tree_of(each), "kind": kind.__name__} for each in await children(ctx, kind, uid)]
    return found


async def _attempt(ctx: Context, obj: Task, run: RunAttempts) -> None:
    """Creates the object of the next attempt and adds the object to the run. Raises Invalid."""
    name, template, number = obj.metadata.name or "", obj.spec.template, run.attempts + 1
    metadata = ObjectMeta(
        name=child_name(name, obj.metadata.uid or "", str(run.scheduled), number),
        labels={**template.labels, OWNER_LABEL: obj.metadata.uid or ""},
        annotations={
            **template.annotations,
            task_runs.SCHEDULED_AT: str(run.scheduled),
            task_runs.BEGAN_AT: str(MicroTime.of(run.started or ctx.clock.now())),
            task_runs.ATTEMPT: str(number),
            TASK: name,
            **({RUN_REQUEST: run.request} if run.request else {}),
            **({RUN_ARGUMENTS: msgspec.json.encode(run.arguments).decode()} if run.arguments else {}),
        },
    )
    child: Any
    if template.executable is not None:
        child = Executable(metadata=metadata, spec=_with_arguments(template.executable, run.arguments))
    else:
        assert template.container is not None
        child = Container(metadata=metadata, spec=_with_arguments(template.container, run.arguments))
    try:
        made = await ctx.client.create(ctx.own(child))
    except AlreadyExists:
        made = await ctx.api.get(type(child), metadata.name or "")
    run.objects.append({**tree_of(made), "kind": type(child).__name__})
    run.attempts = number


def _with_arguments(spec: S, arguments: Sequence[str]) -> S:
    return msgspec.structs.replace(spec, args=[*spec.args, *map(escaped, arguments)]) if arguments else spec


async def _stop(ctx: Context, run: RunAttempts, why: str) -> None:
    tree = run.last
    if tree is None:
        return
    change: Object = {"metadata": {"annotations": {STOPPED_BECAUSE: why}}, "spec": {"stop": True}}
    try:
        changed = await ctx.client.patch(_kind(tree), merge(change), meta.name(tree))
    except NotFound:
        return
    run.objects[-1] = {**tree_of(changed), "kind": tree["kind"]}


async def _delete(ctx: Context, trees: Sequence[Object]) -> None:
    for tree in trees:
        if not meta.is_being_deleted(tree):
            try:
                await ctx.client.delete(_kind(tree), meta.name(tree), uid=meta.uid(tree))
            except NotFound:
                continue


def _kind(tree: Object) -> type[Executable] | type[Container]:
    return Executable if tree["kind"] == "Executable" else Container


# Status


def _report(
    ctx: Context, obj: Task, known: _TaskState, runs: Sequence[tuple[RunAttempts, Ending | None]], report: _TaskReport
) -> None:
    before = obj.status or TaskStatus()
    active = [run for run, ending in runs if ending is None]
    last = runs[-1][1] if runs else None
    state: TaskState
    if active:
        state = "Running"
    elif last is not None:
        state = last.state
    else:
        state = before.state if before.state in ("Succeeded", "Failed") else "Pending"
    succeeded = [ending.at for _, ending in runs if ending is not None and ending.state == "Succeeded" and ending.at]
    latest = max(succeeded, default=before.last_success_time)
    ctx.status.put(
        TaskStatus(
            state=state,
            runs=[run.report(ending) for run, ending in runs],
            active=len(active),
            last_schedule_time=None if report.last is None else MicroTime.of(report.last),
            next_schedule_time=None if report.next is None else MicroTime.of(report.next),
            last_success_time=None if latest is None else MicroTime.of(latest),
            observed_restart=known.obeyed,
        )
    )
    reason, message = _reason_and_message(ctx, obj, state, active, last, report)
    if state in ("Succeeded", "Failed"):
        ctx.status.condition("Succeeded", state == "Succeeded", *_outcome(ctx, state, last))
    else:
        ctx.status.condition("Succeeded", None, reason, message)
    ctx.status.condition("Ready", state == "Succeeded" and report.reason not in _INVALID, reason, message)


def _reason_and_message(
    ctx: Context, obj: Task, state: TaskState, active: Sequence[RunAttempts], last: Ending | None, report: _TaskReport
) -> tuple[str, str]:
    """Returns the reason and message of the conditions; a reason that prevents the next run takes precedence."""
    if report.reason and not (report.reason == "Suspended" and (active or last is not None)):
        return report.reason, report.message
    if active:
        run = active[-1]
        text = f"{run.name}, attempt {run.attempts} of {obj.spec.backoff_limit + 1}"
        if run.has_failed and (retry := run.retry_at(obj.spec)) is not None:
            return "BackOff", f"{text}, failed; the next attempt starts at {retry:%H:%M:%S}"
        return "Running", f"{text} is running" + (f"; {report.message}" if report.message else "")
    if last is None and state == "Pending" and report.next is not None:
        return "Scheduled", f"the first run is due at {MicroTime.of(report.next)}"
    if last is None and state == "Pending":
        return "Pending", "the task has not started"
    return _outcome(ctx, state, last)


def _outcome(ctx: Context, state: TaskState, last: Ending | None) -> tuple[str, str]:
    """Returns the reason and message of the last run that ended."""
    if last is not None:
        return last.reason, last.message
    # The runs were not kept: the last reported condition still applies.
    for each in ctx.status.get("conditions") or ():
        if each["type"] == "Succeeded":
            return each["reason"], each["message"]
    return state, f"the task has {state.lower()}"
