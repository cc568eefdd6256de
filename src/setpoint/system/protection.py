"""Protects storage in use: claims that a pod uses, and bound volumes.

Admission adds a finalizer to each. When an object is being deleted and is not in use any more, the controller removes
the finalizer.
"""

from collections.abc import Awaitable, Callable

from setpoint.client.client import Client
from setpoint.client.kinds import metadata_only
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.predicate import Predicate
from setpoint.controller.request import Request, Result
from setpoint.controller.watch import Watch
from setpoint.objects.errors import NotFound
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost
from setpoint.system.ownership_graph import ObservedObject

CLAIM, VOLUME = "v1/PersistentVolumeClaim", "v1/PersistentVolume"
CLAIM_FINALIZER, VOLUME_FINALIZER = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"
# The interval of checks for objects in use: a pod may finish without being deleted.
AGAIN_SECONDS = 10.0

_ENDING = Predicate(lambda change: change.held.meta.deletion_timestamp is not None, "is being deleted")
IsUsed = Callable[[Client, Object], Awaitable[bool]]


class Protection:
    """Removes the finalizer of unused objects of a kind, as the user of `client`."""

    def __init__(self, name: str, client: Client, kind: str, finalizer: str, is_used: IsUsed) -> None:
        self._client = client
        self._kind = kind
        self._finalizer = finalizer
        self._is_used = is_used
        # Objects that are being deleted and still in use, by namespace.
        self._waiting: dict[str, set[str]] = {}
        self.controller = Controller(
            name,
            self.reconcile,
            clock=client.clock,
            kind=Watch(metadata_only(kind), predicates=(_ENDING,)),
            keep_runs=16,
        )

    async def reconcile(self, ctx: Context, request: Request) -> Result | None:
        client = self._client.with_options(cause=ctx.cause)
        waiting = self._waiting.setdefault(request.namespace, set())
        waiting.discard(request.name)
        try:
            found = await client.get(self._kind, request.name, request.namespace)
            finalizers = found["metadata"].get("finalizers") or []
            if self._finalizer not in finalizers or not found["metadata"].get("deletionTimestamp"):
                return None
            if await self._is_used(client, found):
                waiting.add(request.name)
                return Result(requeue_after=AGAIN_SECONDS)
            kept = [each for each in finalizers if each != self._finalizer]
            await client.update({**found, "metadata": {**found["metadata"], "finalizers": kept}})
        except NotFound:
            return None
        return None

    # Called by the feed

    def begin(self) -> None:
        """Does nothing: waiting objects are checked periodically."""

    async def seen(self, seen: ObservedObject) -> None:
        """Ignores existing objects."""

    async def on_deleted(self, seen: ObservedObject) -> None:
        if seen.at.kind == "Pod":
            for name in self._waiting.get(seen.at.namespace, ()):
                self.controller.enqueue(Request(name, seen.at.namespace))


async def is_used_by_pod(client: Client, claim: Object) -> bool:
    """Returns True if a scheduled, unfinished pod uses a claim."""
    metadata = claim["metadata"]
    for pod in (await client.list("v1/Pod", metadata["namespace"])).items:
        if not pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            continue
        for volume in pod["spec"].get("volumes") or ():
            named = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            generic = f"{pod['metadata']['name']}-{volume['name']}" if volume.get("ephemeral") else None
            if metadata["name"] in (named, generic):
                return True
    return False


async def is_bound(client: Client, volume: Object) -> bool:
    """Returns True if a volume is bound to a claim."""
    return (volume.get("status") or {}).get("phase") == "Bound"


def claim_protection(client: Client) -> Protection:
    """Returns the controller for claims."""
    return Protection("pvc-protection-controller", client, CLAIM, CLAIM_FINALIZER, is_used_by_pod)


def volume_protection(client: Client) -> Protection:
    """Returns the controller for volumes."""
    return Protection("pv-protection-controller", client, VOLUME, VOLUME_FINALIZER, is_bound)


async def start_claim_protection(host: ControllerHost) -> None:
    """Starts the controller for claims."""
    await _start(host, claim_protection(host.client))


async def start_volume_protection(host: ControllerHost) -> None:
    """Starts the controller for volumes."""
    await _start(host, volume_protection(host.client))


async def _start(host: ControllerHost, protection: Protection) -> None:
    host.listen(protection)
    await host.control(protection.controller)
