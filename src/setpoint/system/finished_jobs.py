"""Deletes finished Jobs with their pods, after the time in `ttlSecondsAfterFinished`."""

from datetime import timedelta

from setpoint.client.client import Client
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import Conflict, NotFound
from setpoint.objects.times import parse_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost

NAME, JOB = "ttl-after-finished-controller", "batch/v1/Job"


def finished_jobs(client: Client) -> Controller:
    """Returns the controller, which deletes as the user of `client`."""

    async def reconcile(ctx: Context, request: Request) -> Result | None:
        own = client.with_options(cause=ctx.cause)
        try:
            # Read from the server, not from the cache: an outdated state must not lead to a deletion.
            job = await own.get(JOB, request.name, request.namespace)
            left = _seconds_left(job, client)
            if left is None:
                return None
            if left > 0:
                return Result(requeue_after=left)
            metadata = job["metadata"]
            await own.delete(
                JOB,
                request.name,
                request.namespace,
                propagation="Foreground",
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except NotFound:
            return None
        except Conflict:
            return Result(requeue_after=1.0)  # the job was changed in between
        return None

    counts = Predicate(
        lambda change: change.new is not None and _is_expired(change.new.object), "has ended, with a ttl"
    )
    return Controller(NAME, reconcile, clock=client.clock, kind=Watch(JOB, predicates=(counts,)), keep_runs=16)


def _is_expired(job: Object) -> bool:
    return job["spec"].get("ttlSecondsAfterFinished") is not None and _ended_at(job) is not None


def _ended_at(job: Object) -> str | None:
    """Returns the time at which a job finished, or None."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            found: str | None = condition.get("lastTransitionTime")
            return found
    return None


def _seconds_left(job: Object, client: Client) -> float | None:
    """Returns the remaining seconds of a job's TTL, or None if the job has no TTL, is not finished, or is
    terminating."""
    ttl, ended = job["spec"].get("ttlSecondsAfterFinished"), _ended_at(job)
    if ttl is None or ended is None or job["metadata"].get("deletionTimestamp"):
        return None
    return (parse_time(ended) + timedelta(seconds=ttl) - client.clock.now()).total_seconds()


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(finished_jobs(host.client))
