"""The controller of Deployments."""

from typing import TYPE_CHECKING, Any

from setpoint.cache.cache import Cache
from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import kind_of
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import deleted
from setpoint.controller.request import Request, Requeue, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.system.controlled_objects import AdoptionFailed, ByController, Claims, candidates
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.deployment.numbers import RECREATE
from setpoint.system.deployment.rollout import REPLICA_SET, Rollout
from setpoint.system.pods.state import POD
from setpoint.system.selectors import selector_of

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

DEPLOYMENT = "apps/v1/Deployment"
COMPONENT = "deployment-controller"
CONCURRENCY = 5


class DeploymentReconciler:
    """Reconciles deployments."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> Result | None:
        """Takes the next step of a rollout. Raises Requeue."""
        try:
            found: Object = await ctx.client.get(DEPLOYMENT, request.name, request.namespace)
        except NotFound:
            return None
        selector = selector_of(found)
        if selector.is_everything:
            text = "This deployment is selecting all pods. A non-empty selector is required."
            self._recorder.warning(found, "SelectingAll", text)
            return None
        claims = Claims(ctx, found, selector, REPLICA_SET)
        try:
            replica_sets = await claims.claim(await candidates(ctx, REPLICA_SET, found))
        except AdoptionFailed as error:
            raise Requeue(None, str(error)) from None
        return await Rollout(ctx, found, replica_sets, self._recorder).run()


class _RecreatedByPod:
    """Maps a deleted pod to its deployment, if that one waits for the end of all old pods."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._replica_set, self._deployment = kind_of(REPLICA_SET), kind_of(DEPLOYMENT)

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        namespace = entry.meta.namespace
        owner = _controller(entry, "ReplicaSet")
        replica_set = self._cache.entry(self._replica_set, owner, namespace) if owner else None
        name = _controller(replica_set, "Deployment") if replica_set is not None else ""
        deployment = self._cache.entry(self._deployment, name, namespace) if name else None
        if deployment is None or (deployment.object["spec"].get("strategy") or {}).get("type") != RECREATE:
            return []
        return [Request(name, namespace)]


def _controller(entry: CachedObject[Any], kind: str) -> str:
    """Returns the name of the controller of an object, if its kind is the given one; else an empty text."""
    references = entry.meta.owner_references or ()
    return next((each.name for each in references if each.controller and each.kind == kind), "")


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            DeploymentReconciler(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=DEPLOYMENT,
            watches=[
                Watch(REPLICA_SET, ByController(host.cache, DEPLOYMENT, selector_of)),
                Watch(POD, _RecreatedByPod(host.cache), predicates=(deleted,)),
            ],
            concurrency=CONCURRENCY,
            # The write of a status may be the last step before the next one, such as the end of old replica sets.
            own_status_triggers=True,
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
