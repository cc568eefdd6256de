"""One reconcile of a stateful set: its pods are created in order, deleted in reverse order, and updated.

In the order OrderedReady a pod is created when all pods before are available, and one pod is deleted at a time. With
Parallel all pods are created and deleted at once. Scaling precedes an update.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.recorder import Recorder
from setpoint.objects.tree import Object
from setpoint.system.deployment.numbers import scaled
from setpoint.system.pods.control import in_batches
from setpoint.system.pods.state import ENDED, PENDING, is_available, phase_of
from setpoint.system.statefulset.identity import (
    first_ordinal,
    has_identity,
    has_storage,
    is_in_range,
    new_pod,
    ordinal_of,
    replicas_of,
    revision_label,
)
from setpoint.system.statefulset.pod_control import StatefulPodControl
from setpoint.system.statefulset.revisions import Revisions, template_of
from setpoint.system.statefulset.status import (
    counts,
    is_created,
    is_deleted,
    is_running_and_ready,
    is_unavailable,
    min_ready_seconds,
)

_ROLLING, _ON_DELETE = "RollingUpdate", "OnDelete"


class Rollout:
    """The pods of a set in one reconcile."""

    def __init__(
        self, ctx: Context[Any], stateful_set: Object, pods: Sequence[Object], revisions: Revisions, recorder: Recorder
    ) -> None:
        self._ctx = ctx
        self._set = stateful_set
        self._now = ctx.clock.now()
        self._min_ready = min_ready_seconds(stateful_set)
        self._control = StatefulPodControl(ctx, stateful_set, recorder)
        self._revisions = revisions
        self._current, self._update = (each["metadata"]["name"] for each in (revisions.current, revisions.update))
        known = {ordinal_of(pod): pod for pod in pods}
        start = first_ordinal(stateful_set)
        self._replicas = [
            known.get(ordinal) or self._new_pod(ordinal) for ordinal in range(start, start + replicas_of(stateful_set))
        ]
        beyond = [pod for pod in pods if ordinal_of(pod) >= 0 and not is_in_range(stateful_set, pod)]
        # The pods to delete, from the highest ordinal to the lowest.
        self._condemned = sorted(beyond, key=ordinal_of, reverse=True)
        # The numbers of the next status.
        self.numbers = counts(stateful_set, pods, self._current, self._update, self._now)

    @property
    def _is_ordered(self) -> bool:
        return bool(self._set["spec"].get("podManagementPolicy") != "Parallel")

    @property
    def _strategy(self) -> Object:
        found: Object = self._set["spec"].get("updateStrategy") or {}
        return found

    def _new_pod(self, ordinal: int) -> Object:
        """Returns the pod for an ordinal, with the current revision below the partition, and else with the new one."""
        rolling = self._strategy.get("rollingUpdate")
        if rolling is not None:
            below = rolling.get("partition") or 0
        else:
            is_rolling = self._strategy.get("type") == _ROLLING
            below = (self._set.get("status") or {}).get("currentReplicas", 0) if is_rolling else 0
        is_old = ordinal < first_ordinal(self._set) + below
        revision = self._revisions.current if is_old else self._revisions.update
        return new_pod(self._set, template_of(revision), revision["metadata"]["name"], ordinal)

    async def run(self) -> None:
        """Takes the next steps. Raises APIError and PodFailure after updating the numbers."""
        if self._set["metadata"].get("deletionTimestamp"):
            return
        try:
            is_blocked = (
                await self._for_all(self._replicas, self._keep)
                or await self._for_all(self._condemned, self._keep_claims)
                or await self._for_all(self._condemned, self._remove)
            )
        finally:
            both = [*self._replicas, *self._condemned]
            self.numbers = counts(self._set, both, self._current, self._update, self._now)
        if not is_blocked and self._strategy.get("type") != _ON_DELETE:
            await self._roll()

    async def _for_all(self, pods: Sequence[Object], step: Callable[[Object], Awaitable[bool]]) -> bool:
        """Takes a step for all pods; in order until one blocks, or all at once. Returns True if one blocks."""
        if self._is_ordered:
            for pod in pods:
                if await step(pod):
                    return True
            return False
        following = iter(pods)
        await in_batches(self._ctx, len(pods), lambda: step(next(following)))
        return False

    # Steps for one pod. They return True if the next pod must wait.

    async def _keep(self, pod: Object) -> bool:
        """Creates a missing pod, replaces an ended one, and restores identity and claims."""
        if phase_of(pod) in ENDED:
            if not is_deleted(pod):
                await self._control.delete(pod)
            return True
        if not is_created(pod):
            if await self._control.has_stale_claim(pod):
                return True
            await self._control.create(pod)
            if self._is_ordered:
                return True
        if phase_of(pod) == PENDING:
            await self._control.restore_claims(pod)
        if self._is_ordered and (is_deleted(pod) or not self._is_healthy(pod)):
            return True
        if is_created(pod) and not (
            has_identity(self._set, pod) and has_storage(self._set, pod) and await self._control.has_right_owners(pod)
        ):
            await self._control.update(pod)
        return False

    def _is_healthy(self, pod: Object) -> bool:
        return is_running_and_ready(pod) and is_available(pod, self._min_ready, self._now)

    async def _keep_claims(self, pod: Object) -> bool:
        """Makes a pod beyond the desired number the owner of its claims, if the policy demands this."""
        if not await self._control.has_right_owners(pod):
            await self._control.set_owners(pod)
        return False

    async def _remove(self, pod: Object) -> bool:
        """Deletes a pod beyond the desired number. An unhealthy pod blocks, except the first of them."""
        if is_deleted(pod):
            return self._is_ordered
        if self._is_ordered and not self._is_healthy(pod) and pod is not self._first_unavailable():
            return True
        await self._control.delete(pod)
        return True

    def _first_unavailable(self) -> Object | None:
        both = (*self._replicas, *reversed(self._condemned))
        return next((pod for pod in both if self._is_unavailable(pod)), None)

    def _is_unavailable(self, pod: Object) -> bool:
        return is_unavailable(pod, self._min_ready, self._now)

    # Updates

    async def _roll(self) -> None:
        """Deletes pods of old revisions from the highest ordinal to the partition, as far as the unavailability
        allows. Their successors have the new revision."""
        rolling = self._strategy.get("rollingUpdate") or {}
        limit = rolling.get("maxUnavailable")
        most = max(scaled(1 if limit is None else limit, len(self._replicas), up=False), 1)
        free = max(most - sum(map(self._is_unavailable, self._replicas)), 0)
        outdated = [pod for pod in self._replicas[rolling.get("partition") or 0 :] if self._is_outdated(pod)][::-1]
        if self._is_ordered:
            targets = outdated[:free]
        else:
            # Pods that are unavailable already cost no availability, and must not block a parallel update.
            available = [pod for pod in outdated if not self._is_unavailable(pod)]
            targets = [*filter(self._is_unavailable, outdated), *available[:free]]
        for pod in targets:
            await self._control.delete(pod)
            # An adopted pod has no revision, and is not among the current ones.
            self.numbers["currentReplicas"] = max(self.numbers["currentReplicas"] - 1, 0)

    def _is_outdated(self, pod: Object) -> bool:
        return is_created(pod) and not is_deleted(pod) and revision_label(pod) != self._update
