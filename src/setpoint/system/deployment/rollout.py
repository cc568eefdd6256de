"""One reconcile of a deployment: replica sets are created and scaled, and the status is written.

The order of the steps, and the writes of the status between them, are those of kube-controller-manager.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from setpoint.controller.context import Context
from setpoint.controller.request import Requeue, Result
from setpoint.objects.errors import AlreadyExists, APIError, NotFound
from setpoint.objects.frozen import thaw
from setpoint.objects.owners import is_controlled_by
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import candidates
from setpoint.system.deployment.numbers import (
    DESIRED,
    RECREATE,
    active,
    annotated,
    by_age,
    is_rolling,
    is_saturated,
    max_unavailable,
    new_replicas,
    proportional_sizes,
    replicas_of,
    reported,
    total,
)
from setpoint.system.deployment.revisions import (
    REVISION,
    by_revision,
    find_new,
    is_same_template,
    max_revision,
    new_annotations,
    new_replica_set,
    replica_annotations,
)
from setpoint.system.deployment.status import (
    CREATE_FAILED,
    CREATED,
    FOUND,
    PAUSED,
    PROGRESSING,
    RESUMED,
    TIMED_OUT,
    condition,
    condition_of,
    counted,
    deadline_of,
    is_complete,
    report_failure,
    report_progress,
    seconds_to_deadline,
    set_condition,
)
from setpoint.system.pods.control import is_namespace_terminating
from setpoint.system.pods.state import ENDED, POD, phase_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

REPLICA_SET = "apps/v1/ReplicaSet"
_KEEP_ALL = 2**31 - 1
_SCALED = "ScalingReplicaSet"


class Rollout:
    """A deployment and its replica sets in one reconcile. `deployment` is a copy with the writes so far."""

    def __init__(
        self, ctx: Context[Any], deployment: Object, replica_sets: Sequence[Object], recorder: "Recorder"
    ) -> None:
        self._ctx = ctx
        self._deployment = thaw(deployment)
        self._new = find_new(deployment, replica_sets)
        self._old = [each for each in replica_sets if self._new is None or each is not self._new]
        self._recorder = recorder

    @property
    def _all(self) -> list[Object]:
        return [*self._old, *([self._new] if self._new is not None else ())]

    async def run(self) -> Result | None:
        """Takes the next step. Raises Requeue and APIError."""
        spec = self._deployment["spec"]
        if self._deployment["metadata"].get("deletionTimestamp"):
            await self._keep_revision()
            await self._report_counts()
            return None
        await self._report_pause()
        if spec.get("paused"):
            await self._keep_revision()
            await self._scale()
            await self._clean_up()
            await self._report_counts()
            return None
        await self._keep_revision()
        if self._is_scaled():
            await self._scale()
            await self._report_counts()
            return None
        if (spec.get("strategy") or {}).get("type") == RECREATE:
            return await self._recreate()
        return await self._roll()

    # Revisions

    async def _keep_revision(self) -> None:
        """Keeps the annotations of the new replica set, and the revision of the deployment."""
        found = self._new
        if found is None:
            return
        revision = max_revision(self._old) + 1
        annotations = new_annotations(self._deployment, found, revision)
        min_ready = self._deployment["spec"].get("minReadySeconds") or 0
        if annotations != (found["metadata"].get("annotations") or {}) or min_ready != (
            found["spec"].get("minReadySeconds") or 0
        ):
            changed = {**found, "metadata": {**found["metadata"], "annotations": annotations}}
            changed["spec"] = {**found["spec"], "minReadySeconds": min_ready}
            self._new = await self._ctx.api.update(changed)
            return
        progress = None
        if deadline_of(self._deployment) is not None and condition_of(self._status, PROGRESSING) is None:
            text = f'Found new replica set "{found["metadata"]["name"]}"'
            progress = condition(PROGRESSING, "True", FOUND, text, self._ctx.clock.now())
        await self._write_revision(annotations.get(REVISION, ""), progress)

    async def _create(self) -> Object:
        """Creates the new replica set. Raises Requeue."""
        deployment = self._deployment
        revision = max_revision(self._old) + 1
        wanted = new_replica_set(deployment, self._old, revision)
        name, has_deadline = wanted["metadata"]["name"], deadline_of(deployment) is not None
        existed = False
        try:
            made: Object = await self._ctx.api.create(wanted)
        except AlreadyExists as error:
            made, existed = await self._existing(name, error), True
        except APIError as error:
            if is_namespace_terminating(error):
                raise Requeue(None, str(error)) from None
            text = f'Failed to create new replica set "{name}": {error}'
            if has_deadline:
                set_condition(self._status, condition(PROGRESSING, "False", CREATE_FAILED, text, self._ctx.clock.now()))
                await self._write_status()
            self._recorder.warning(deployment, CREATE_FAILED, text)
            raise Requeue(None, text) from None
        replicas = replicas_of(made)
        if not existed and replicas > 0:
            self._recorder.normal(deployment, _SCALED, f"Scaled up replica set {name} from 0 to {replicas}")
        progress = None
        if not existed and has_deadline:
            text = f'Created new replica set "{name}"'
            progress = condition(PROGRESSING, "True", CREATED, text, self._ctx.clock.now())
        await self._write_revision(str(revision), progress)
        self._new = made
        return made

    async def _existing(self, name: str, error: AlreadyExists) -> Object:
        """Returns the replica set with the name of the new one, if it is the same. Otherwise counts a collision of
        hashes, after which the next name is another one, and raises Requeue."""
        deployment = self._deployment
        found: Object = await self._ctx.api.get(REPLICA_SET, name, deployment["metadata"]["namespace"])
        is_own = is_controlled_by(found, deployment)
        if is_own and is_same_template(found["spec"]["template"], deployment["spec"]["template"]):
            return found
        self._status["collisionCount"] = (self._status.get("collisionCount") or 0) + 1
        await self._write_status()
        raise Requeue(None, str(error)) from None

    # Scaling

    def _is_scaled(self) -> bool:
        """Returns True if the deployment was scaled since its replica sets were."""
        wanted = replicas_of(self._deployment)
        return any(annotated(each, DESIRED) not in (None, wanted) for each in active(self._all))

    async def _scale(self) -> None:
        """Distributes the replicas after a change of their number, or while the rollout is paused."""
        wanted, running = replicas_of(self._deployment), active(self._all)
        if len(running) <= 1:
            newest = running[0] if running else self._new or next(reversed(by_age(self._old)), None)
            if newest is not None:
                await self._resize(newest, wanted)
                return
        if is_saturated(self._deployment, self._new):
            for each in active(self._old):
                await self._resize(each, 0)
        elif is_rolling(self._deployment):
            for each, size in proportional_sizes(self._deployment, running):
                await self._resize(each, size, force=True)

    async def _resize(self, replica_set: Object, size: int, *, force: bool = False) -> bool:
        """Sets the replicas of a replica set. With `force`, outdated annotations are a reason for an update, too.
        Returns True if the number changed."""
        before = replicas_of(replica_set)
        annotations = replica_set["metadata"].get("annotations") or {}
        wanted = {**annotations, **replica_annotations(self._deployment)}
        if before == size and not (force and wanted != annotations):
            return False
        metadata = {**replica_set["metadata"], "annotations": wanted}
        changed = {**replica_set, "metadata": metadata, "spec": {**replica_set["spec"], "replicas": size}}
        made: Object = await self._ctx.api.update(changed)
        self._replace(replica_set, made)
        if before == size:
            return False
        direction, name = "up" if before < size else "down", made["metadata"]["name"]
        text = f"Scaled {direction} replica set {name} from {before} to {size}"
        self._recorder.normal(self._deployment, _SCALED, text)
        return True

    def _replace(self, before: Object, after: Object) -> None:
        if before is self._new:
            self._new = after
        else:
            self._old = [after if each is before else each for each in self._old]

    # Rolling update

    async def _roll(self) -> Result | None:
        new = self._new or await self._create()
        if await self._scale_new(new) or await self._scale_old():
            return await self._report_rollout()
        if is_complete(self._deployment, self._status):
            await self._clean_up()
        return await self._report_rollout()

    async def _scale_new(self, new: Object) -> bool:
        wanted, current = replicas_of(self._deployment), replicas_of(new)
        if current == wanted:
            return False
        size = wanted if current > wanted else new_replicas(self._deployment, self._all, current)
        return await self._resize(new, size)

    async def _scale_old(self) -> bool:
        """Scales old replica sets down as far as the pods that are available allow. Returns True if one was scaled."""
        assert self._new is not None
        if not total(self._old):
            return False
        least = replicas_of(self._deployment) - max_unavailable(self._deployment)
        missing = replicas_of(self._new) - reported(self._new, "availableReplicas")
        most = total(self._all) - least - missing
        if most <= 0:
            return False
        unhealthy = await self._remove_unhealthy(most)
        return await self._remove_old(least) or unhealthy

    async def _remove_unhealthy(self, most: int) -> bool:
        """Removes unavailable old pods first: this costs no availability, and they could block the rollout."""
        removed = 0
        for each in by_age(active(self._old)):
            unavailable = replicas_of(each) - reported(each, "availableReplicas")
            number = min(most - removed, unavailable)
            if number > 0:
                await self._resize(each, replicas_of(each) - number)
                removed += number
        return removed > 0

    async def _remove_old(self, least: int) -> bool:
        """Removes old pods as long as enough pods are available."""
        free = sum(reported(each, "availableReplicas") for each in self._all) - least
        removed = 0
        for each in by_age(active(self._old)):
            number = min(free - removed, replicas_of(each))
            if number > 0:
                await self._resize(each, replicas_of(each) - number)
                removed += number
        return removed > 0

    # Recreate

    async def _recreate(self) -> Result | None:
        """Creates the new pods when all old ones are gone."""
        scaled_down = False
        for each in active(self._old):
            scaled_down |= await self._resize(each, 0)
        if scaled_down or await self._has_old_pods():
            return await self._report_rollout()
        new = self._new or await self._create()
        await self._resize(new, replicas_of(self._deployment))
        if is_complete(self._deployment, self._status):
            await self._clean_up()
        return await self._report_rollout()

    async def _has_old_pods(self) -> bool:
        if any(reported(each, "replicas") for each in self._old):
            return True
        for each in self._old:
            pods = await candidates(self._ctx, POD, each)
            if any(is_controlled_by(pod, each) and phase_of(pod) not in ENDED for pod in pods):
                return True
        return False

    # History

    async def _clean_up(self) -> None:
        """Deletes the oldest replica sets without pods beyond the limit of the history."""
        limit = self._deployment["spec"].get("revisionHistoryLimit")
        if limit is None or limit == _KEEP_ALL:
            return
        alive = [each for each in self._old if not each["metadata"].get("deletionTimestamp")]
        for each in by_revision(alive)[: max(len(alive) - limit, 0)]:
            status, metadata = each.get("status") or {}, each["metadata"]
            is_behind = metadata.get("generation", 0) > status.get("observedGeneration", 0)
            if status.get("replicas") or replicas_of(each) or is_behind:
                continue
            try:
                await self._ctx.api.delete(REPLICA_SET, metadata["name"], metadata["namespace"], uid=metadata["uid"])
            except NotFound:
                continue

    # Status

    @property
    def _status(self) -> Object:
        found: Object = self._deployment.setdefault("status", {})
        return found

    async def _report_pause(self) -> None:
        """Reports the start and the end of a pause: the time of a pause does not count for the deadline."""
        if deadline_of(self._deployment) is None:
            return
        known = condition_of(self._status, PROGRESSING)
        reason = known.get("reason") if known is not None else None
        is_paused = bool(self._deployment["spec"].get("paused"))
        if reason == TIMED_OUT or is_paused == (reason == PAUSED):
            return
        if is_paused:
            found = condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused", self._ctx.clock.now())
        else:
            found = condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", self._ctx.clock.now())
        set_condition(self._status, found)
        await self._write_status()

    async def _report_counts(self) -> None:
        await self._write_new_status(counted(self._deployment, self._all, self._new, self._ctx.clock.now()))

    async def _report_rollout(self) -> Result | None:
        """Writes the status of a rollout, and returns the time of the next check of its progress."""
        now = self._ctx.clock.now()
        status = counted(self._deployment, self._all, self._new, now)
        report_progress(self._deployment, status, self._new, now)
        report_failure(status, self._all, self._new)
        await self._write_new_status(status)
        wait = seconds_to_deadline(self._deployment, status, now)
        return None if wait is None else Result(requeue_after=wait)

    async def _write_new_status(self, status: Object) -> None:
        if status != self._status:
            self._deployment["status"] = status
            await self._write_status()

    async def _write_revision(self, revision: str, progress: Object | None) -> None:
        """Writes the revision of the deployment, and a condition, if one of them is new."""
        annotations = self._deployment["metadata"].setdefault("annotations", {})
        is_new = annotations.get(REVISION) != revision
        annotations[REVISION] = revision
        if progress is not None:
            set_condition(self._status, progress)
        if is_new or progress is not None:
            await self._write_status()

    async def _write_status(self) -> None:
        # The status of a deployment is written with its annotations, where the revision is.
        self._deployment = await self._ctx.api.update(self._deployment, subresource="status")
