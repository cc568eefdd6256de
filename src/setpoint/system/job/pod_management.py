"""Creates and deletes the pods of a job: as many as the parallelism and the missing completions require."""

from collections.abc import Sequence
from typing import Any

from setpoint.client.patches import strategic
from setpoint.controller.context import Context
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.tree import Object
from setpoint.system.job.indexed_pods import add_index, add_index_variables, duplicates, index_backoff, indexes_of
from setpoint.system.job.indexes import Indexes
from setpoint.system.job.job_state import JobState
from setpoint.system.job.pod_state import FINALIZER, has_finalizer, removal_key, replaces_failed_only
from setpoint.system.pods.control import PodControl, PodFailure, in_batches, pod_of_template
from setpoint.system.pods.state import POD, is_ready, is_terminating

# The most pods that one reconcile creates or deletes.
BURST = 500
# The number of requests after which other tasks run.
_YIELDS_AFTER = 8


class PodManagement:
    """Changes the pods of one job, and the numbers of its state."""

    def __init__(self, ctx: Context[Any], pods: PodControl, state: JobState) -> None:
        self._ctx = ctx
        self._pods = pods
        self._state = state
        # The seconds until further pods may be created; None if none wait.
        self.wait: float | None = None

    async def delete_active(self) -> None:
        """Deletes all active pods of a job that ends. They keep their finalizers until they are counted. Raises
        PodFailure after all attempts."""
        await self._delete(self._state.active_pods, keep_finalizers=True)

    async def manage(self) -> None:
        """Deletes superfluous pods; if there are none, creates missing ones. Raises PodFailure."""
        state = self._state
        if state.is_suspended:
            await self._delete(self._superfluous(state.active))
            return
        wanted = self._wanted()
        superfluous = self._superfluous(max(state.active - wanted, 0))[:BURST]
        if superfluous:
            await self._delete(superfluous)
            return
        blocked = state.terminating if replaces_failed_only(state.job) else 0
        missing = wanted - blocked - state.active
        if missing > 0:
            await self._create(missing)

    def _wanted(self) -> int:
        state, spec = self._state, self._state.job["spec"]
        parallelism: int = spec["parallelism"]
        completions: int | None = spec.get("completions")
        if completions is None:
            # After the first success no further pods start.
            return state.active if state.succeeded else parallelism
        return max(min(completions - state.succeeded, parallelism), 0)

    def _superfluous(self, least: int) -> list[Object]:
        """Returns the pods to delete: at least a number of them, and those with an invalid or a repeated index."""
        removed: list[Object] = []
        kept = self._state.active_pods
        if self._state.indexed:
            removed, kept = duplicates(kept, self._state.job["spec"]["completions"])
        if len(removed) < least:
            removed += sorted(kept, key=removal_key)[: least - len(removed)]
        return removed

    # Deletion

    async def _delete(self, pods: Sequence[Object], *, keep_finalizers: bool = False) -> None:
        failure: PodFailure | None = None
        for number, pod in enumerate(pods):
            if number % _YIELDS_AFTER == 0:
                await self._ctx.clock.sleep(0)
            try:
                if not keep_finalizers and has_finalizer(pod):
                    await self._untrack(pod)
                await self._pods.delete(self._ctx, self._state.job, pod)
            except PodFailure as error:
                failure = failure or error
                continue
            self._state.active -= 1
            self._state.terminating += 1
            self._state.ready -= is_ready(pod)
        if failure is not None:
            raise failure

    async def _untrack(self, pod: Object) -> None:
        try:
            await remove_finalizer(self._ctx, pod)
        except APIError as error:
            raise PodFailure(f"removing completion finalizer: {error}") from error

    # Creation

    async def _create(self, missing: int) -> None:
        state, job = self._state, self._state.job
        by_index = job["spec"].get("backoffLimitPerIndex") is not None
        if not by_index and self._must_wait(state.backoff.seconds_left(state.now)):
            return
        number, indexes = min(missing, BURST), []
        if state.indexed:
            indexes = self._pending(number)
            if by_index:
                indexes = self._due(indexes)
            number = len(indexes)
        pod = pod_of_template(job["spec"]["template"], job)
        pod["metadata"]["finalizers"] = list(dict.fromkeys((*(pod["metadata"].get("finalizers") or ()), FINALIZER)))
        if state.indexed:
            add_index_variables(pod["spec"])
        following = iter(indexes)

        async def attempt() -> None:
            index = next(following, None)
            wanted = pod if index is None else add_index(pod, job, index, state.last_failures)
            await self._pods.create(self._ctx, job, wanted)
            state.active += 1

        await in_batches(self._ctx, number, attempt)

    def _must_wait(self, seconds: float) -> bool:
        if seconds > 0:
            self.wait = seconds
        return seconds > 0

    def _pending(self, most: int) -> list[int]:
        """Returns the first indexes that need a pod."""
        state, completions = self._state, self._state.job["spec"]["completions"]
        occupied = state.succeeded_indexes | indexes_of(state.active_pods, completions)
        if replaces_failed_only(state.job):
            occupied |= indexes_of((pod for pod in state.pods if is_terminating(pod)), completions)
        return (occupied | (state.failed_indexes or Indexes())).missing(most, completions)

    def _due(self, indexes: Sequence[int]) -> list[int]:
        """Returns the indexes without a remaining backoff. Sets the wait if there is none."""
        waits = {
            index: index_backoff(self._state.last_failures.get(index)).seconds_left(self._state.now)
            for index in indexes
        }
        due = [index for index, seconds in waits.items() if seconds <= 0]
        if not due and waits:
            self.wait = min(waits.values())
        return due


async def remove_finalizer(ctx: Context[Any], pod: Object) -> None:
    """Removes the tracking finalizer of a pod; a missing pod has none."""
    metadata = pod["metadata"]
    # The uid keeps a later pod of this name unchanged.
    patch = {"uid": metadata["uid"], "$deleteFromPrimitiveList/finalizers": [FINALIZER]}
    try:
        await ctx.api.patch(POD, strategic({"metadata": patch}), metadata["name"], metadata["namespace"])
    except NotFound:
        return
