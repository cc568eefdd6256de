"""Pods that nobody will ever end, or needs any more, are deleted: those of nodes that are not there, and the oldest of
those that have ended, when there are very many.

Only a node's agent can finish a pod that is bound to it: without the node such a pod, once deleted, would stay for
ever, and its namespace with it. A node that is missing has some time to come back. While nothing is written nothing is
looked at.
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

POD, NODE = "v1/Pod", "v1/Node"
EVERY_SECONDS = 20.0
# How long a node may be missing before its pods go.
PATIENCE_SECONDS = 40.0
# How many pods that have ended are left alone.
MOST_ENDED = 12_500
_ENDED = ("Succeeded", "Failed")

_log = logging.getLogger(__name__)


class _Pod(NamedTuple):
    """What is to be known of a pod. They sort by age."""

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
    """Looks again and again, as the user that `client` is. `revision` tells whether anything was written."""

    def __init__(self, client: Client, revision: Callable[[], Awaitable[int]], *, most_ended: int = MOST_ENDED) -> None:
        self._client = client
        self._revision = revision
        self._most_ended = most_ended
        # Nodes that pods name and nobody knows, and since when.
        self._missing: dict[str, float] = {}
        self._looked_at = -1

    async def run(self) -> None:
        while True:
            await self._client.clock.sleep(EVERY_SECONDS)
            revision = await self._revision()
            if revision == self._looked_at and not self._missing:
                continue
            try:
                await self.look()
            except (APIError, TransportError) as error:
                _log.warning("pods could not be looked at: %s", error)
            else:
                self._looked_at = revision

    async def look(self) -> None:
        """Deletes what should go by now."""
        pods = [_Pod.of(tree) async for tree in self._client.each(POD)]
        gone = await self._gone_nodes({pod.node for pod in pods if pod.node})
        for pod in pods:
            if pod.node in gone:
                await self._delete(pod, "PodGC: node no longer exists")
        ended = sorted(pod for pod in pods if pod.ended and pod.node not in gone)
        for pod in ended[: max(len(ended) - self._most_ended, 0)]:
            await self._delete(pod)

    async def _gone_nodes(self, named: set[str]) -> set[str]:
        """Those of the nodes that have been missing for long, and are missing still."""
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
        """Deletes a pod at once; one that has not ended is said to have failed, and why."""
        with suppress(NotFound, Conflict):  # it went by itself, or is another one by now
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
