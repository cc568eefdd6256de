"""Deletes pods of missing nodes, and the oldest finished pods if there are very many.

Only the agent of a node can finish a pod that is bound to the node: without the node, a deleted pod and its namespace
would stay forever. A missing node gets some time to return. Pods are not checked while there are no writes.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from setpoint.client.client import Client
from setpoint.client.kinds import metadata_only
from setpoint.client.patches import strategic
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError, Conflict, NotFound
from setpoint.objects.times import format_time
from setpoint.objects.tree import Object
from setpoint.system.controller_host import ControllerHost

POD, NODE = "v1/Pod", "v1/Node"
EVERY_SECONDS = 20.0
# The time that a node may be missing before its pods are deleted.
PATIENCE_SECONDS = 40.0
# The number of finished pods to keep.
MOST_ENDED = 12_500
_ENDED = ("Succeeded", "Failed")

_log = logging.getLogger(__name__)


class _Pod(NamedTuple):
    """The relevant fields of a pod, ordered by age."""

    created: str
    namespace: str
    name: str
    uid: str
    node: str
    ended: bool

    @classmethod
    def of(cls, tree: Object) -> "_Pod":
        meta = tree["metadata"]
        ended = (tree.get("status") or {}).get("phase") in _ENDED
        node = tree["spec"].get("nodeName", "")
        return cls(meta["creationTimestamp"], meta["namespace"], meta["name"], meta["uid"], node, ended)


class PodGarbageCollector:
    """Checks periodically, as the user of `client`. `revision` shows whether there were writes."""

    def __init__(self, client: Client, revision: Callable[[], Awaitable[int]], *, most_ended: int = MOST_ENDED) -> None:
        self._client = client
        self._revision = revision
        self._most_ended = most_ended
        # Missing nodes of pods, and the time since which they are missing.
        self._missing: dict[str, float] = {}
        self._checked_at = -1

    async def run(self) -> None:
        while True:
            await self._client.clock.sleep(EVERY_SECONDS)
            revision = await self._revision()
            if revision == self._checked_at and not self._missing:
                continue
            try:
                await self.collect()
            except (APIError, TransportError) as error:
                _log.warning("the garbage collection of pods failed: %s", error)
            else:
                self._checked_at = revision

    async def collect(self) -> None:
        """Deletes the pods that are due."""
        pods = [_Pod.of(tree) async for tree in self._client.each(POD)]
        gone = await self._deleted_nodes({pod.node for pod in pods if pod.node})
        for pod in pods:
            if pod.node in gone:
                await self._delete(pod, "PodGC: node no longer exists")
        ended = sorted(pod for pod in pods if pod.ended and pod.node not in gone)
        for pod in ended[: max(len(ended) - self._most_ended, 0)]:
            await self._delete(pod)

    async def _deleted_nodes(self, named: set[str]) -> set[str]:
        """Returns the nodes that have been missing for long, and still are."""
        known = {node["metadata"]["name"] async for node in self._client.each(metadata_only(NODE))} if named else set()
        now = self._client.clock.monotonic()
        self._missing = {name: self._missing.get(name, now) for name in named - known}
        gone = set()
        for name, since in self._missing.items():
            if now - since >= PATIENCE_SECONDS:
                try:
                    await self._client.get(NODE, name)
                except NotFound:
                    gone.add(name)
        return gone

    async def _delete(self, pod: _Pod, why: str = "") -> None:
        """Deletes a pod immediately; an unfinished pod is marked as failed first, with the reason."""
        with suppress(NotFound, Conflict):  # the pod was deleted meanwhile, or replaced
            if why and not pod.ended:
                condition = {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "DeletionByPodGC",
                    "message": why,
                    "lastTransitionTime": format_time(self._client.clock.now()),
                }
                status = {"phase": "Failed", "conditions": [condition]}
                patch = strategic({"metadata": {"uid": pod.uid}, "status": status})
                await self._client.patch_status(POD, patch, pod.name, pod.namespace)
            await self._client.delete(POD, pod.name, pod.namespace, grace_period=0, uid=pod.uid)


async def start(host: ControllerHost) -> None:
    """Starts the periodic checks."""
    host.run(PodGarbageCollector(host.client, host.server.revision).run)
