"""The controller of CronJobs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.recorder import Recorder, reference
from setpoint.controller.request import Request, Requeue, Result
from setpoint.objects.cron import ScheduleError, find_zone
from setpoint.objects.errors import AlreadyExists, APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.gotext import quote
from setpoint.objects.owners import is_controlled_by
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import candidates
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.cronjob.jobs import job_name, job_of_template, outdated
from setpoint.system.cronjob.times import MANY, Timetable, missed_start, seconds_to_next, timetable_of
from setpoint.system.job.conditions import COMPLETE, end_of
from setpoint.system.pods.control import is_namespace_terminating

CRON_JOB, JOB = "batch/v1/CronJob", "batch/v1/Job"
COMPONENT = "cronjob-controller"
CONCURRENCY = 5
_ZONE_HELP = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


class CronJobReconciler:
    """Reconciles cron jobs."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        # The uid, schedule and time zone at the last reconcile.
        self._schedules: dict[Request, tuple[str, str, str | None]] = {}

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Starts the job that is due, deletes outdated ones, and writes the status. Raises Requeue and APIError."""
        try:
            found: Object = await ctx.client.get(CRON_JOB, request.name, request.namespace)
        except NotFound:
            self._schedules.pop(request, None)
            return None
        if self._is_rescheduled(request, found):
            # A new schedule takes effect with its next time: an earlier one is not due.
            return _wait(found, timetable_of(found), ctx.clock.now())
        jobs = [job for job in await candidates(ctx, JOB, found) if is_controlled_by(job, found)]
        run = CronJobRun(ctx, thaw(found), jobs, self._recorder)
        try:
            return await run.run()
        finally:
            await run.write_status()

    def _is_rescheduled(self, request: Request, found: Object) -> bool:
        """Returns True if only the schedule of a known cron job has changed. Remembers the schedule."""
        spec, uid = found["spec"], found["metadata"]["uid"]
        before = self._schedules.get(request)
        self._schedules[request] = after = uid, spec["schedule"], spec.get("timeZone")
        return before is not None and before[0] == uid and before != after


def _wait(cron_job: Object, timetable: Timetable, now: datetime) -> Result | None:
    seconds = seconds_to_next(cron_job, timetable, now)
    return None if seconds is None else Result(requeue_after=max(seconds, 0.1))


class CronJobRun:
    """One reconcile of a cron job. `cron_job` is a mutable copy with the next status."""

    def __init__(self, ctx: Context[Any], cron_job: Object, jobs: Sequence[Object], recorder: Recorder) -> None:
        self._ctx = ctx
        self._cron_job = cron_job
        self._jobs = jobs
        self._recorder = recorder
        self._now = ctx.clock.now()
        self._changed = False

    @property
    def _status(self) -> Object:
        found: Object = self._cron_job.setdefault("status", {})
        return found

    @property
    def _active(self) -> list[Object]:
        return list(self._status.get("active") or ())

    async def run(self) -> Result | None:
        """Takes all steps apart from the write of the status. Raises Requeue and APIError."""
        for job in outdated(self._cron_job, self._jobs):
            await self._delete(job)
        for job in self._jobs:
            self._observe(job)
        await self._drop_missing()
        spec = self._cron_job["spec"]
        if self._cron_job["metadata"].get("deletionTimestamp"):
            return None
        zone = spec.get("timeZone")
        if zone is not None and find_zone(zone) is None:
            self._warn("UnknownTimeZone", f"invalid timeZone: {quote(zone)}: unknown time zone {zone}")
            return None
        if spec.get("suspend"):
            return None
        return await self._start_due()

    async def write_status(self) -> None:
        """Writes a changed status."""
        if self._changed:
            await self._ctx.api.update(self._cron_job, subresource="status")

    def _warn(self, reason: str, text: str) -> None:
        self._recorder.warning(self._cron_job, reason, text)

    def _tell(self, reason: str, text: str) -> None:
        self._recorder.normal(self._cron_job, reason, text)

    # The list of active jobs

    def _observe(self, job: Object) -> None:
        """Removes an ended job from the list of active ones, and reports an unfinished one that is not listed."""
        uid, name, end = job["metadata"]["uid"], job["metadata"]["name"], end_of(job)
        is_listed = any(each["uid"] == uid for each in self._active)
        if end:
            if is_listed:
                self._forget(uid)
                self._tell("SawCompletedJob", f"Saw completed job: {name}, condition: {end}")
            if end == COMPLETE:
                self._remember_success(job)
        elif not is_listed:
            self._warn("UnexpectedJob", f"Saw a job that the controller did not create or forgot: {name}")

    def _remember_success(self, job: Object) -> None:
        ended, known = job["status"].get("completionTime"), self._status.get("lastSuccessfulTime")
        if ended and (known is None or ended > known):
            self._status["lastSuccessfulTime"] = ended
            self._changed = True

    async def _drop_missing(self) -> None:
        known = {job["metadata"]["uid"] for job in self._jobs}
        for each in self._active:
            if each["uid"] not in known:
                try:
                    await self._ctx.api.get(JOB, each["name"], each["namespace"])
                except NotFound:
                    self._tell("MissingJob", f"Active job went missing: {each['name']}")
                    self._forget(each["uid"])

    def _forget(self, uid: str) -> None:
        left = [each for each in self._active if each["uid"] != uid]
        self._changed |= len(left) < len(self._active)
        if left:
            self._status["active"] = left
        else:
            self._status.pop("active", None)

    # Starting

    async def _start_due(self) -> Result | None:
        spec = self._cron_job["spec"]
        try:
            timetable = self._timetable()
        except ScheduleError as error:
            self._warn("UnparseableSchedule", f"unparseable schedule: {quote(spec['schedule'])} : {error}")
            return None
        try:
            missed = missed_start(self._cron_job, timetable, self._now, within_deadline=True)
        except ScheduleError as error:
            self._warn("InvalidSchedule", f"invalid schedule: {spec['schedule']} : {error}")
            return None
        scheduled = missed.latest
        if scheduled is not None:
            if missed.number > MANY:
                text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
                self._warn("TooManyMissedTimes", text)
            if self._may_start(scheduled):
                await self._replace()
                if not await self._start(scheduled):
                    return None
        return _wait(self._cron_job, timetable, self._now)

    def _timetable(self) -> Timetable:
        schedule = self._cron_job["spec"]["schedule"]
        if "TZ" in schedule:
            text = f"CRON_TZ or TZ used in schedule {quote(schedule)} is not officially supported, see {_ZONE_HELP}"
            self._warn("UnsupportedSchedule", f"{text} for more details")
        return timetable_of(self._cron_job)

    def _may_start(self, scheduled: datetime) -> bool:
        """Returns True if the job of a time must start now."""
        spec, name = self._cron_job["spec"], job_name(self._cron_job, scheduled)
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and scheduled + timedelta(seconds=deadline) < self._now:
            moment = f"{scheduled:%a, %d %b %Y %H:%M:%S +0000}"
            self._warn("MissSchedule", f"Missed scheduled time to start a job: {moment}")
            return False
        is_listed = any(each["name"] == name for each in self._active)
        if is_listed or self._status.get("lastScheduleTime") == format_time(scheduled):
            return False
        if spec.get("concurrencyPolicy") == "Forbid" and self._active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._tell("JobAlreadyActive", text)
            return False
        return True

    async def _replace(self) -> None:
        """Deletes the active jobs, if the policy demands this. Raises Requeue and APIError."""
        if self._cron_job["spec"].get("concurrencyPolicy") != "Replace":
            return
        for each in self._active:
            try:
                job = await self._ctx.api.get(JOB, each["name"], each["namespace"])
            except APIError as error:
                self._warn("FailedGet", f"Get job: {error}")
                raise
            if not await self._delete(job):
                raise Requeue(None, f"could not replace job {each['namespace']}/{each['name']}")

    async def _start(self, scheduled: datetime) -> bool:
        """Creates the job of a time, and lists this job as active. Returns False for the name of a foreign job. Raises
        APIError."""
        wanted = job_of_template(self._cron_job, scheduled)
        namespace, name = wanted["metadata"]["namespace"], wanted["metadata"]["name"]
        try:
            made: Object = await self._ctx.api.create(wanted)
            self._tell("SuccessfulCreate", f"Created job {name}")
        except AlreadyExists:
            # After a crash the job exists, and the status does not list the job.
            made = await self._ctx.api.get(JOB, name, namespace)
            if not is_controlled_by(made, self._cron_job):
                return False
        except APIError as error:
            if not is_namespace_terminating(error):
                self._warn("FailedCreate", f"Error creating job: {error}")
            raise
        self._status["active"] = [*self._active, reference(made)]
        self._status["lastScheduleTime"] = format_time(scheduled)
        self._changed = True
        return True

    async def _delete(self, job: Object) -> bool:
        """Deletes a job with its pods. Returns False after a failure."""
        metadata = job["metadata"]
        try:
            await self._ctx.api.delete(
                JOB, metadata["name"], metadata["namespace"], uid=metadata["uid"], propagation="Background"
            )
        except APIError as error:
            self._warn("FailedDelete", f"Deleted job: {error}")
            return False
        self._forget(metadata["uid"])
        self._changed = True
        self._tell("SuccessfulDelete", f"Deleted job {metadata['name']}")
        return True


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            CronJobReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=CRON_JOB,
            owns=[JOB],
            concurrency=CONCURRENCY,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
