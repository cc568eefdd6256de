"""Deletes pods of missing nodes, and the oldest finished pods if there are very many.

Only the agent of a node can finish a pod that is bound to the node: without the node, a deleted pod and its namespace
would stay forever. A missing node gets some time to return. Pods are not checked while there are no writes.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from setpoint.client.client import Client
from setpoint.client.kinds import metadata_only
from setpoint.client.list_result import PAGE
from setpoint.client.patches import strategic
from setpoint.client.transport import TransportError
from setpoint.objects.errors import APIError, Conflict, NotFound
from setpoint.objects.times import format_time
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


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str
    uid: str
    creation_timestamp: str


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class _Status(msgspec.Struct, gc=False):
    phase: str = ""


class _Item(msgspec.Struct, gc=False):
    """A pod in the answer of the server; all other fields remain undecoded."""

    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)

    def pod(self) -> _Pod:
        meta = self.metadata
        ended = self.status.phase in _ENDED
        return _Pod(meta.creation_timestamp, meta.namespace, meta.name, meta.uid, self.spec.node_name, ended)


class _ListMetadata(msgspec.Struct):
    continue_: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: list[_Item] | None = None


_read_page = msgspec.json.Decoder(_Page).decode


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
        known = {node["metadata"]["name"] async for node in self._client.each(metadata_only(NODE))}
        # A node that was created since the list of nodes counts as missing; each missing node is read again before its
        # pods are deleted.
        orphans: list[_Pod] = []
        ended: list[_Pod] = []
        async for pod in self._pods():
            if pod.node and pod.node not in known:
                orphans.append(pod)
            elif pod.ended:
                ended.append(pod)
        gone = await self._deleted_nodes({pod.node for pod in orphans})
        for pod in orphans:
            if pod.node in gone:
                await self._delete(pod, "PodGC: node no longer exists")
            elif pod.ended:
                ended.append(pod)
        ended.sort()
        for pod in ended[: max(len(ended) - self._most_ended, 0)]:
            await self._delete(pod)

    async def _pods(self) -> AsyncIterator[_Pod]:
        """Yields all pods, of which only one page is in memory at a time."""
        continue_ = ""
        while True:
            page = _read_page(await self._client.raw_list(POD, limit=PAGE, continue_=continue_))
            for item in page.items or ():
                yield item.pod()
            continue_ = page.metadata.continue_
            if not continue_:
                return

    async def _deleted_nodes(self, missing: set[str]) -> set[str]:
        """Returns those of the missing nodes that have been missing for long, and still are."""
        now = self._client.clock.monotonic()
        self._missing = {name: self._missing.get(name, now) for name in missing}
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
