"""Creates the claims of ephemeral volumes, which belong to their pods and are deleted with them."""

from typing import TYPE_CHECKING, Any

from setpoint.cache.change import Change
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Requeue
from setpoint.controller.watch import Watch
from setpoint.objects.errors import AlreadyExists, APIError
from setpoint.objects.owners import controller_reference
from setpoint.objects.tree import Object
from setpoint.system.controller_host import FIELD_MANAGER, ControllerHost
from setpoint.system.persistentvolume.storage_state import CLAIM, claims_of_pod, foreign_claim
from setpoint.system.pods.facts import facts_of
from setpoint.system.pods.state import POD

if TYPE_CHECKING:
    from setpoint.controller.recorder import Recorder

COMPONENT = "ephemeral_volume"


def _is_new(change: Change[Any]) -> bool:
    """Returns True for a new pod with ephemeral volumes: the volumes of a pod do not change."""
    if change.new is None or change.old is not None:
        return False
    return any(use.is_ephemeral for use in facts_of(change.new).claims)


def _claim(pod: Object, volume: str, name: str) -> Object:
    """Returns the claim of an ephemeral volume."""
    [source] = [each for each in pod["spec"]["volumes"] if each["name"] == volume]
    template = source["ephemeral"]["volumeClaimTemplate"]
    given = template.get("metadata") or {}
    metadata = {field: given[field] for field in ("annotations", "labels") if given.get(field)}
    metadata |= {
        "name": name,
        "namespace": pod["metadata"]["namespace"],
        "ownerReferences": [controller_reference(pod)],
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}


class EphemeralVolumes:
    """Reconciles pods with ephemeral volumes. A deleted claim is created again as long as its pod exists."""

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder

    async def reconcile(self, ctx: Context[Any], request: Request) -> None:
        """Creates the missing claims of a pod. Raises Requeue for a claim that cannot be created, or that belongs to
        another owner."""
        pod: Object | None = await ctx.client.find(POD, request.name, request.namespace)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return
        for use in claims_of_pod(pod):
            if not use.is_ephemeral:
                continue
            problem = await self._problem(ctx, pod, use.volume, use.claim)
            if problem:
                text = f"ephemeral volume {use.volume}: {problem}"
                self._recorder.warning(pod, "FailedBinding", text)
                raise Requeue(None, text)

    async def _problem(self, ctx: Context[Any], pod: Object, volume: str, name: str) -> str:
        """Creates a claim, unless there is one. Returns the reason of a failure; empty if there is none."""
        found: Object | None = await ctx.client.find(CLAIM, name, pod["metadata"]["namespace"])
        if found is not None:
            return foreign_claim(pod, found)
        try:
            await ctx.api.create(_claim(pod, volume, name))
        except AlreadyExists as error:
            raise Requeue(None, str(error)) from None  # the cache will show the claim
        except APIError as error:
            return f"create PVC {name}: {error}"
        return ""


async def start(host: ControllerHost) -> None:
    """Starts the controller."""
    await host.control(
        Controller(
            host.name,
            EphemeralVolumes(host.recorder(COMPONENT)).reconcile,
            clock=host.clock,
            kind=Watch(POD, predicates=(Predicate(_is_new, "is new and has ephemeral volumes"),)),
            reads=[CLAIM],
            field_manager=FIELD_MANAGER,
            keep_runs=64,
        )
    )
