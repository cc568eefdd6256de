"""The nodes with the pods assigned to them, kept up to date by the changes of the cache.

A pod counts from the moment of its assignment, before the cache shows the assignment. So two pods never get the same
room. A pod that waits for the end of others on its nominated node counts for pods of lower or the same priority.
"""

from collections import Counter
from collections.abc import Iterator
from sys import intern
from typing import Any

import msgspec

from setpoint.cache.entry import CachedObject, Meta
from setpoint.objects.clock import Clock, SystemClock
from setpoint.objects.labels import Labels
from setpoint.objects.tree import Object
from setpoint.system.pods.facts import ClaimUse, PodFacts, facts_of
from setpoint.system.scheduler.affinity_terms import AffinityTerms, labels_of, terms_of
from setpoint.system.scheduler.pod_counts import PodCounts
from setpoint.system.scheduler.pod_requests import PodRequests, Resources, amounts


class AssignedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod on a node: the fields that count, without the pod, because there are thousands of them."""

    node: str
    uid: str
    name: str
    namespace: str
    labels: Labels
    generation: int
    resource_version: str
    # The time of the deletion; empty for a pod that is not being deleted.
    deleted: str
    priority: int
    requests: PodRequests
    terms: AffinityTerms
    claims: tuple[ClaimUse, ...]
    start_time: str
    # The reason of the disruption that ends the pod; None without one.
    disruption: str | None

    @classmethod
    def of(cls, pod: Object, node: str) -> "AssignedPod":
        metadata, facts = pod["metadata"], PodFacts.of(pod)
        return cls(
            node=node,
            uid=metadata["uid"],
            name=metadata.get("name", ""),
            namespace=intern(metadata.get("namespace", "")),
            labels=labels_of(pod),
            generation=metadata.get("generation") or 0,
            resource_version=metadata.get("resourceVersion", ""),
            deleted=metadata.get("deletionTimestamp") or "",
            priority=facts.priority,
            requests=PodRequests.of(pod),
            terms=terms_of(pod),
            claims=facts.claims,
            start_time=facts.start_time,
            disruption=facts.disruption,
        )

    @property
    def is_terminating(self) -> bool:
        return bool(self.deleted)

    @property
    def reference(self) -> Object:
        """The identity of the pod in the form of an object, for events and writes."""
        metadata: Object = {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
            "generation": self.generation,
        }
        if self.deleted:
            metadata["deletionTimestamp"] = self.deleted
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def priority_of(pod: Object) -> int:
    """Returns the priority of a pod."""
    found: int = pod["spec"].get("priority") or 0
    return found


class NodeInfo:
    """A node, and the sum of the requests of its pods."""

    def __init__(self, name: str) -> None:
        self.name = name
        # The node; None while the cache has only pods of the node.
        self.node: Object | None = None
        self.labels: Labels = {}
        self.allocatable: Resources = {}
        self.requested: Resources = {}
        self.scored_cpu = 0
        self.scored_memory = 0
        self.pods: dict[str, AssignedPod] = {}
        # The number of pods of each priority.
        self.priorities: Counter[int] = Counter()

    def set_node(self, node: Object | None) -> None:
        self.node = node
        self.labels = (node or {}).get("metadata", {}).get("labels") or {}
        self.allocatable = amounts(((node or {}).get("status") or {}).get("allocatable"))

    def add(self, assigned: AssignedPod) -> None:
        """Adds a pod."""
        self.pods[assigned.uid] = assigned
        self._count(assigned, 1)

    def remove(self, assigned: AssignedPod) -> None:
        """Removes a pod."""
        del self.pods[assigned.uid]
        self._count(assigned, -1)

    def _count(self, assigned: AssignedPod, sign: int) -> None:
        for name, number in assigned.requests.resources.items():
            self.requested[name] = self.requested.get(name, 0) + sign * number
        self.scored_cpu += sign * assigned.requests.scored_cpu
        self.scored_memory += sign * assigned.requests.scored_memory
        priority = assigned.priority
        self.priorities[priority] += sign
        if not self.priorities[priority]:
            del self.priorities[priority]


class ClusterState:
    """All nodes and all assigned pods that have not ended."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._infos: dict[str, NodeInfo] = {}
        # The names of the existing nodes in the order of their creation, for a fair choice of candidates.
        self._names: list[str] = []
        self._assigned: dict[str, AssignedPod] = {}
        self._start = 0
        self.counts = PodCounts(self.pause)
        # The number of pods with terms by node, for each set of terms: most pods have none.
        self.terms: dict[AffinityTerms, dict[str, int]] = {}
        # The number of assigned pods that use a claim, by namespace and name.
        self._claims: Counter[tuple[str, str]] = Counter()
        # The waiting pods with a nominated node, by node and UID.
        self._nominated: dict[str, dict[str, AssignedPod]] = {}
        self._nominations: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._names)

    async def pause(self) -> None:
        """Lets other tasks run."""
        await self._clock.sleep(0)

    def info(self, name: str) -> NodeInfo:
        """Returns the state of a node, also of a node that the cache does not have yet."""
        found = self._infos.get(name)
        if found is None:
            found = self._infos[name] = NodeInfo(name)
        return found

    def existing(self, name: str) -> NodeInfo | None:
        """Returns the state of an existing node."""
        found = self._infos.get(name)
        return found if found is not None and found.node is not None else None

    def nodes(self) -> Iterator[NodeInfo]:
        """Yields the nodes, beginning after the last one that an earlier cycle examined."""
        names, start = self._names, self._start
        for offset in range(len(names)):
            yield self._infos[names[(start + offset) % len(names)]]

    def examined(self, number: int) -> None:
        """Moves the start of the next cycle."""
        self._start = (self._start + number) % len(self._names) if self._names else 0

    def set_node(self, name: str, node: Object | None) -> None:
        """Adds, changes or removes a node."""
        info = self.info(name)
        if (info.node is None) != (node is None):
            if node is None:
                self._names.remove(name)
            else:
                self._names.append(name)
        info.set_node(node)
        if node is None and not info.pods:
            del self._infos[name]

    # Assigned pods

    def is_assigned(self, uid: str) -> bool:
        return uid in self._assigned

    def is_running(self, uid: str) -> bool:
        """Returns True for a counted pod that is not being deleted."""
        assigned = self._assigned.get(uid)
        return assigned is not None and not assigned.is_terminating

    def assign(self, pod: Object, node: str) -> None:
        """Counts a pod on a node, instead of its earlier state."""
        uid = pod["metadata"]["uid"]
        self.remove(uid)
        self.withdraw(uid)
        assigned = self._assigned[uid] = AssignedPod.of(pod, node)
        self.info(node).add(assigned)
        self._index(assigned, 1)

    def update(self, entry: CachedObject[Any]) -> bool:
        """Follows a change of the status of a pod, as most changes are. Returns False if the pod is not counted on its
        node, or may count differently: then the whole pod has to be assigned."""
        meta, facts = entry.meta, facts_of(entry)
        known = self._assigned.get(meta.uid)
        if known is None or known.node != facts.node or not _is_alike(known, meta):
            return False
        changed = msgspec.structs.replace(
            known,
            resource_version=meta.resource_version,
            labels=meta.labels or {},
            start_time=facts.start_time,
            disruption=facts.disruption,
        )
        self._assigned[meta.uid] = self._infos[known.node].pods[meta.uid] = changed
        return True

    def remove(self, uid: str) -> bool:
        """Stops counting a pod. Returns True if the pod was counted."""
        assigned = self._assigned.pop(uid, None)
        if assigned is None:
            return False
        info = self._infos[assigned.node]
        info.remove(assigned)
        self._index(assigned, -1)
        if info.node is None and not info.pods:
            del self._infos[assigned.node]
        return True

    def _index(self, assigned: AssignedPod, sign: int) -> None:
        self.counts.add(assigned.namespace, assigned.labels, assigned.is_terminating, assigned.node, sign)
        if any(assigned.terms):
            nodes = self.terms.setdefault(assigned.terms, {})
            nodes[assigned.node] = nodes.get(assigned.node, 0) + sign
            if not nodes[assigned.node]:
                del nodes[assigned.node]
                if not nodes:
                    del self.terms[assigned.terms]

        for use in assigned.claims:
            if not use.is_ephemeral:
                key = assigned.namespace, use.claim
                self._claims[key] += sign
                if not self._claims[key]:
                    del self._claims[key]

    def uses_of(self, namespace: str, claim: str) -> int:
        """Returns the number of uses of a claim by assigned pods."""
        return self._claims[namespace, claim]

    # Nominated pods

    def nominate(self, pod: Object, node: str) -> None:
        """Reserves room on a node for a waiting pod, instead of an earlier nomination; empty for none."""
        uid = pod["metadata"]["uid"]
        self.withdraw(uid)
        if node:
            self._nominations[uid] = node
            self._nominated.setdefault(node, {})[uid] = AssignedPod.of(pod, node)

    def withdraw(self, uid: str) -> None:
        """Ends the nomination of a pod."""
        before = self._nominations.pop(uid, "")
        if before:
            del self._nominated[before][uid]
            if not self._nominated[before]:
                del self._nominated[before]

    def nominated_to(self, node: str) -> list[AssignedPod]:
        """Returns the waiting pods with this nominated node."""
        return list(self._nominated.get(node, {}).values())


def _is_alike(known: AssignedPod, new: Meta) -> bool:
    """Returns True if a new version of a pod counts like the known one."""
    return bool(
        known.generation
        and known.generation == new.generation
        and known.deleted == (new.deletion_timestamp or "")
        and known.labels == (new.labels or {})
    )
