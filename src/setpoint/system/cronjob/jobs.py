"""The jobs of a cron job: their names and contents, and those beyond the limits of the history."""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from setpoint.objects.cron import find_zone
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.job.conditions import COMPLETE, FAILED, end_of

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_LIMITS = ((COMPLETE, "successfulJobsHistoryLimit"), (FAILED, "failedJobsHistoryLimit"))


def job_name(cron_job: Object, scheduled: datetime) -> str:
    """Returns the name of the job of a time. A second creation for this time fails."""
    return f"{cron_job['metadata']['name']}-{int(scheduled.timestamp()) // 60}"


def job_of_template(cron_job: Object, scheduled: datetime) -> Object:
    """Returns the new job of a time."""
    template = thaw(cron_job["spec"]["jobTemplate"])
    given, zone = template.get("metadata") or {}, find_zone(cron_job["spec"].get("timeZone") or "") or UTC
    metadata: Object = {
        "name": job_name(cron_job, scheduled),
        "namespace": cron_job["metadata"]["namespace"],
        "annotations": {**(given.get("annotations") or {}), SCHEDULED: _local_time(scheduled, zone)},
        "ownerReferences": [controller_reference(cron_job)],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}


def _local_time(moment: datetime, zone: tzinfo) -> str:
    text = moment.astimezone(zone).isoformat(timespec="seconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def outdated(cron_job: Object, jobs: Iterable[Object]) -> list[Object]:
    """Returns the finished jobs beyond the limits of the history, the oldest first."""
    found: list[Object] = []
    jobs = list(jobs)
    for kind, name in _LIMITS:
        limit = cron_job["spec"].get(name)
        if limit is not None:
            ended = sorted((job for job in jobs if end_of(job) == kind), key=_start)
            found += ended[: max(len(ended) - limit, 0)]
    return found


def _start(job: Object) -> tuple[bool, str, str]:
    started = (job.get("status") or {}).get("startTime")
    return not started, started or "", job["metadata"]["name"]
