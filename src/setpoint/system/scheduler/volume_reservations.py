"""The volumes of pods with a chosen node: the decisions are written, and a pod is assigned to its node when all its
claims are bound."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from setpoint.controller.context import Context
from setpoint.controller.request import Request
from setpoint.objects.tree import Object
from setpoint.system.persistentvolume.storage_state import (
    CLAIM,
    SELECTED_NODE,
    VOLUME,
    annotations_of,
    claim_of,
    is_fully_bound,
    with_annotations,
    with_claim,
)
from setpoint.system.scheduler.cluster_state import ClusterState
from setpoint.system.scheduler.plugins.volume_binding import reaches
from setpoint.system.scheduler.pod_volumes import Placement

# The time within which claims must be bound.
BIND_SECONDS = 600.0


class VolumesFailed(Exception):  # noqa: N818 - named for the event
    """The claims of a pod cannot be bound as decided; another node must be found."""


class Reservation(NamedTuple):
    """A pod that waits for its claims."""

    uid: str
    node: str
    # The names of the chosen volumes, with their claims.
    choices: Sequence[tuple[str, str]]
    # The names of the claims for which volumes are provisioned.
    provisions: Sequence[str]
    deadline: float


class VolumeReservations:
    """The pods that wait for their claims."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._waiting: dict[Request, Reservation] = {}

    def of(self, request: Request) -> Reservation | None:
        """Returns the reservation of a pod; None without one."""
        return self._waiting.get(request)

    def forget(self, request: Request) -> None:
        """Ends a reservation. Decisions that were written stay valid for the next attempt."""
        self._waiting.pop(request, None)

    async def reserve(self, ctx: Context[Any], request: Request, pod: Object, placement: Placement) -> bool:
        """Writes the decisions about the claims of a pod. Returns False if there are none. Raises APIError."""
        volumes, node = placement.volumes, placement.node
        if not volumes.choices and not volumes.provisions:
            return False
        for volume, claim in volumes.choices:
            bound = with_claim(volume, claim)
            if bound is not volume:
                await ctx.client.update(bound)
        for claim in volumes.provisions:
            if annotations_of(claim).get(SELECTED_NODE) != node:
                await ctx.client.update(with_annotations(claim, {SELECTED_NODE: node}))
        choices = [(each.volume["metadata"]["name"], each.claim["metadata"]["name"]) for each in volumes.choices]
        provisions = [each["metadata"]["name"] for each in volumes.provisions]
        deadline = ctx.clock.monotonic() + BIND_SECONDS
        self._waiting[request] = Reservation(pod["metadata"]["uid"], node, choices, provisions, deadline)
        return True

    async def are_bound(self, ctx: Context[Any], request: Request, reservation: Reservation) -> bool:
        """Returns True if all claims of a pod are bound. A change of a claim or a volume triggers the pod again. Raises
        VolumesFailed."""
        node = self._cluster.existing(reservation.node)
        if node is None:
            raise VolumesFailed(f'failed to get node "{reservation.node}": node "{reservation.node}" not found')
        is_complete = True
        for name, claim_name in reservation.choices:
            volume: Object | None = await ctx.client.find(VOLUME, name)
            if volume is None:
                raise VolumesFailed(f'failed to check binding: persistentvolume "{name}" not found')
            if not claim_of(volume).get("uid"):
                raise VolumesFailed(f'ClaimRef got reset for pv "{name}"')
            is_complete &= is_fully_bound(await self._claim(ctx, request, claim_name))
        for claim_name in reservation.provisions:
            claim = await self._claim(ctx, request, claim_name)
            if annotations_of(claim).get(SELECTED_NODE) != reservation.node:
                raise VolumesFailed(f'provisioning failed for PVC "{claim_name}"')
            if not is_fully_bound(claim):
                is_complete = False
                continue
            name = claim["spec"]["volumeName"]
            volume = await ctx.client.find(VOLUME, name)
            if volume is not None and not reaches(volume, node):
                raise VolumesFailed(f'pv "{name}" node affinity doesn\'t match node "{node.name}"')
        if not is_complete and ctx.clock.monotonic() >= reservation.deadline:
            raise VolumesFailed("context deadline exceeded")
        return is_complete

    async def _claim(self, ctx: Context[Any], request: Request, name: str) -> Object:
        found: Object | None = await ctx.client.find(CLAIM, name, request.namespace)
        if found is None:
            raise VolumesFailed(f'failed to check provisioning pvc: persistentvolumeclaim "{name}" not found')
        return found
