"""The CronJob of the kubebuilder book: runs a Job at the times of a schedule, and keeps the last ones.

`setpoint dev examples/cronjob/cronjob_operator.py` runs the controller; `deploy/` installs it on a cluster.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Literal

import setpoint as sp
from setpoint.api.batch.v1 import Job, JobTemplateSpec
from setpoint.api.core.v1 import ObjectReference
from setpoint.objects import cron
from setpoint.objects.errors import AlreadyExists
from setpoint.schema.types import Minimum, MinLength

SCHEDULED_AT = "batch.tutorial.kubebuilder.io/scheduled-at"
# A schedule that was missed more often was probably never meant: the clock jumped, or a start time is years ago.
MOST_MISSED = 100


class CronJobSpec(sp.Model):
    """The desired state of a CronJob."""

    # The schedule in cron format, such as `*/5 * * * *`.
    schedule: Annotated[str, MinLength(1)]
    # The Job to create.
    job_template: JobTemplateSpec
    # A Job that could not start within this many seconds after its time is skipped.
    starting_deadline_seconds: Annotated[int, Minimum(0)] | None = None
    # Forbid skips a run while another one is active, Replace ends the active one.
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Allow"
    suspend: bool = False
    successful_jobs_history_limit: Annotated[int, Minimum(0)] = 3
    failed_jobs_history_limit: Annotated[int, Minimum(0)] = 1


class CronJobStatus(sp.Model):
    """The observed state of a CronJob."""

    active: list[ObjectReference] | None = None
    last_schedule_time: datetime | None = None


class CronJob(sp.Resource, group="batch.tutorial.kubebuilder.io", version="v1"):
    """Runs Jobs at the times of a schedule."""

    spec: CronJobSpec
    status: CronJobStatus | None = None


@sp.validate(CronJob)
def check(cronjob: CronJob) -> None:
    try:
        cron.parse(cronjob.spec.schedule)
    except cron.ScheduleError as error:
        raise sp.Denied(f"spec.schedule: {error}", code=422, reason="Invalid") from None
    if len(cronjob.metadata.name) > 52:
        # The names of its Jobs have 11 more characters, and at most 63.
        raise sp.Denied("metadata.name: must be no more than 52 characters", code=422, reason="Invalid")


@sp.controller(CronJob, owns=[Job])
async def cronjob(ctx: sp.Context, request: sp.Request) -> sp.Result | None:
    found: CronJob | None = await ctx.object()
    if found is None:
        return None  # its Jobs are deleted by the garbage collector
    jobs = [job for job in (await ctx.client.list(Job, request.namespace)).items if is_owned(job, found)]
    active = [job for job in jobs if not outcome_of(job)]
    times = [time for time in map(scheduled_at, jobs) if time is not None]
    ctx.status["active"] = [reference(job) for job in active]
    if times:
        ctx.status["lastScheduleTime"] = f"{max(times):%Y-%m-%dT%H:%M:%SZ}"

    limits = {"Complete": found.spec.successful_jobs_history_limit, "Failed": found.spec.failed_jobs_history_limit}
    for outcome, limit in limits.items():
        finished = sorted((job for job in jobs if outcome_of(job) == outcome), key=lambda job: job.metadata.name)
        for job in finished[: max(len(finished) - limit, 0)]:
            await ctx.client.delete(job, propagation="Background")
    if found.spec.suspend:
        return None

    now = ctx.clock.now()
    missed, following = schedule_of(found, now, max(times, default=None))
    result = sp.Result(requeue_after=(following - now).total_seconds()) if following is not None else None
    deadline = found.spec.starting_deadline_seconds
    if missed is None or (deadline is not None and missed + timedelta(seconds=deadline) < now):
        return result
    if found.spec.concurrency_policy == "Forbid" and active:
        return result
    if found.spec.concurrency_policy == "Replace":
        for job in active:
            await ctx.client.delete(job, propagation="Background")
    with suppress(AlreadyExists):  # the same run, created before this program was restarted
        await ctx.client.create(ctx.own(new_job(found, missed)))
    return result


def schedule_of(cronjob: CronJob, now: datetime, last: datetime | None) -> tuple[datetime | None, datetime | None]:
    """Returns the last time that has passed without a Job, and the next time. Raises TerminalError."""
    schedule = cron.parse(cronjob.spec.schedule)
    earliest = last or cronjob.metadata.creation_timestamp or now
    if (deadline := cronjob.spec.starting_deadline_seconds) is not None:
        earliest = max(earliest, now - timedelta(seconds=deadline))
    missed, due = None, schedule.next_after(earliest)
    for _ in range(MOST_MISSED):
        if due is None or due > now:
            return missed, due
        missed, due = due, schedule.next_after(due)
    raise sp.TerminalError(
        f"more than {MOST_MISSED} runs were missed: set or decrease spec.startingDeadlineSeconds, or check the clock"
    )


def new_job(cronjob: CronJob, scheduled: datetime) -> Job:
    """Returns the Job of a run. The name depends on the time, so that a run happens once."""
    template = cronjob.spec.job_template
    annotations = {**(template.metadata.annotations or {}), SCHEDULED_AT: f"{scheduled:%Y-%m-%dT%H:%M:%SZ}"}
    metadata = sp.ObjectMeta(
        name=f"{cronjob.metadata.name}-{int(scheduled.timestamp())}",
        namespace=cronjob.metadata.namespace,
        labels=template.metadata.labels,
        annotations=annotations,
    )
    return Job(metadata=metadata, spec=template.spec)


def scheduled_at(job: Job) -> datetime | None:
    text = (job.metadata.annotations or {}).get(SCHEDULED_AT)
    return datetime.fromisoformat(text) if text else None


def outcome_of(job: Job) -> str:
    """Returns Complete or Failed for a finished Job, and an empty text for an active one."""
    conditions = (job.status.conditions if job.status is not None else None) or ()
    return next((each.type for each in conditions if each.type in ("Complete", "Failed") and each.status == "True"), "")


def is_owned(job: Job, cronjob: CronJob) -> bool:
    return any(each.uid == cronjob.metadata.uid for each in job.metadata.owner_references or ())


def reference(job: Job) -> dict[str, str | None]:
    metadata = job.metadata
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
    }
