"""The controller of StatefulSets."""

from typing import Any

from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.recorder import Recorder
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import APIError, NotFound
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import AdoptionFailed, ByController, Claims, candidates
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.pods.availability import next_availability
from setpoint.system.pods.control import PodFailure
from setpoint.system.pods.state import POD
from setpoint.system.selectors import selector_of
from setpoint.system.statefulset.identity import is_member, revision_label
from setpoint.system.statefulset.pod_control import CLAIM
from setpoint.system.statefulset.revisions import REVISION, Revisions
from setpoint.system.statefulset.rollout import Rollout
from setpoint.system.statefulset.status import min_ready_seconds, new_status

STATEFUL_SET = "apps/v1/StatefulSet"
COMPONENT = "statefulset-controller"
CONCURRENCY = 5


class StatefulSetReconciler:
    """Reconciles stateful sets."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Takes the next steps, and writes the status. Raises Requeue and APIError."""
        try:
            found: Object = await ctx.client.get(STATEFUL_SET, request.name, request.namespace)
        except NotFound:
            return None
        selector = selector_of(found)
        pod_claims = Claims(ctx, found, selector, POD, is_member=lambda pod: is_member(found, pod))
        try:
            matching = [
                each
                for each in await candidates(ctx, REVISION, found)
                if selector.matches(each["metadata"].get("labels"))
            ]
            known = await Claims(ctx, found, selector, REVISION).claim(matching)
            pods = await pod_claims.claim(await candidates(ctx, POD, found))
        except AdoptionFailed as error:
            raise Requeue(None, str(error)) from None
        revisions = Revisions(ctx, found, known)
        await revisions.find()
        rollout = Rollout(ctx, found, pods, revisions, self._recorder)
        failure: Exception | None = None
        try:
            await rollout.run()
        except (APIError, PodFailure) as error:
            failure = error
        names = [each["metadata"]["name"] for each in (revisions.current, revisions.update)]
        status = new_status(found, rollout.numbers, names[0], names[1], revisions.collisions)
        if status is not None:
            await ctx.client.update({**found, "status": status}, subresource="status")
        await revisions.truncate(set(map(revision_label, pods)))
        if failure is not None:
            raise Requeue(None, str(failure))
        wait = await next_availability(ctx, pods, min_ready_seconds(found))
        return None if wait is None else Result(requeue_after=wait)


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            StatefulSetReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=STATEFUL_SET,
            watches=[Watch(POD, ByController(host.cache, STATEFUL_SET, selector_of))],
            # The end of a claim allows the next step; revisions are only read.
            reads=[CLAIM, REVISION],
            concurrency=CONCURRENCY,
            # A complete update is the start of the next step, such as the end of old revisions.
            own_status_triggers=True,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
