"""The comparable form of the results of a scenario: without times, identities and generated names.

Replica sets are named by their revision, pods by their owner. The events of each object are in order.
"""

import re
from typing import Any

from setpoint.objects.tree import Object

_REVISION = "deployment.kubernetes.io/revision"
# The reasons of the events that are compared; nodes and other controllers report more.
_REASONS = frozenset(
    (
        "SuccessfulCreate",
        "SuccessfulDelete",
        "FailedCreate",
        "ScalingReplicaSet",
        "ReplicaSetCreateError",
        "Scheduled",
        "FailedScheduling",
        "FailedDelete",
        "SuccessfulUpdate",
        "Completed",
        "Suspended",
        "Resumed",
        "BackoffLimitExceeded",
        "DeadlineExceeded",
        "PodFailurePolicy",
        "FailedIndexes",
        "MaxFailedIndexesExceeded",
        "SawCompletedJob",
        "MissingJob",
        "JobAlreadyActive",
        "MissSchedule",
        "TooManyMissedTimes",
        "UnexpectedJob",
        "InvalidSchedule",
        "FailedDaemonPod",
        "SucceededDaemonPod",
        "NoPods",
        "UnmanagedPods",
        "CalculateExpectedPodCountFailed",
        "FailedToUpdateEndpointSlices",
        "SuccessfulRescale",
        "FailedRescale",
        "FailedGetScale",
        "FailedGetResourceMetric",
        "FailedGetExternalMetric",
        "FailedGetPodsMetric",
        "FailedComputeMetricsReplicas",
        "Preempted",
        "TaintManagerEviction",
        "FailedBinding",
        "WaitForFirstConsumer",
        "WaitForPodScheduled",
        "ExternalProvisioning",
        "ProvisioningFailed",
        "VolumeMismatch",
        "VolumeFailedDelete",
        "ClaimLost",
        "ClaimMisbound",
        "ExternalExpanding",
    )
)
_STATUS = {
    "ReplicaSet": ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas"),
    "Deployment": (
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ),
    "ReplicationController": ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "Job": (
        "active",
        "ready",
        "terminating",
        "succeeded",
        "failed",
        "completedIndexes",
        "failedIndexes",
        "uncountedTerminatedPods",
    ),
    "CronJob": (),
    "StatefulSet": (
        "replicas",
        "readyReplicas",
        "availableReplicas",
        "currentReplicas",
        "updatedReplicas",
        "collisionCount",
        "currentRevision",
        "updateRevision",
    ),
    "ControllerRevision": (),
    "PersistentVolumeClaim": ("phase", "capacity", "accessModes"),
    "PersistentVolume": ("phase", "message"),
    "Pod": ("phase", "nominatedNodeName"),
    "DaemonSet": (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberMisscheduled",
        "numberReady",
        "numberAvailable",
        "numberUnavailable",
        "updatedNumberScheduled",
    ),
    "PodDisruptionBudget": (
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
        "disruptedPods",
    ),
    "Endpoints": (),
    "EndpointSlice": (),
    "HorizontalPodAutoscaler": ("currentReplicas", "desiredReplicas", "currentMetrics"),
}
_SPEC = {
    "ReplicaSet": ("replicas", "minReadySeconds", "selector"),
    "Deployment": ("replicas",),
    "ReplicationController": ("replicas",),
    "Job": ("parallelism", "completions", "suspend"),
    "CronJob": ("suspend",),
    "StatefulSet": ("replicas",),
    "ControllerRevision": (),
    "PersistentVolumeClaim": ("accessModes", "resources", "storageClassName", "volumeName", "volumeMode"),
    "PersistentVolume": (
        "accessModes",
        "capacity",
        "claimRef",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeMode",
    ),
    "Pod": ("hostname", "subdomain"),
    "DaemonSet": (),
    "PodDisruptionBudget": (),
    "Endpoints": (),
    "EndpointSlice": (),
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
}
# The fields of objects without a spec. Their lists have no order.
_FIELDS = {"Endpoints": ("subsets",), "EndpointSlice": ("addressType", "ports", "endpoints")}
# The times and references of a status: only their presence is compared.
_PRESENT = {
    "Job": ("startTime", "completionTime"),
    "CronJob": ("active", "lastScheduleTime", "lastSuccessfulTime"),
    "HorizontalPodAutoscaler": ("lastScaleTime",),
}
_UNOBSERVED = frozenset(
    (
        "Pod",
        "Job",
        "CronJob",
        "ControllerRevision",
        "PersistentVolumeClaim",
        "PersistentVolume",
        "Endpoints",
        "EndpointSlice",
        "HorizontalPodAutoscaler",
    )
)
# Simulated pods of KWOK have no other conditions.
_POD_CONDITIONS = ("PodScheduled", "Ready")
# The condition of claims by the time since their last use, which our controllers do not report.
_UNUSED = "Unused"


def normal(objects: list[Object], events: list[Object]) -> Object:
    """Returns the comparable form of the objects and the events."""
    names = _Names(objects, events)
    found = sorted((_object(each, names) for each in objects), key=str)
    told: dict[str, list[str]] = {}
    for event in sorted(events, key=_place):
        about, reason = event["regarding"], event.get("reason", "")
        if reason in _REASONS:
            key = f"{about['kind']} {names.of(about['kind'], about['name'])}"
            told.setdefault(f"{key} {about.get('uid', '')}", []).append(
                f"{event['type']} {reason}: {names.in_text(event.get('note', ''))}"
            )
    lists = sorted([key.rpartition(" ")[0], *notes] for key, notes in told.items())
    return {"objects": found, "events": lists}


def _place(event: Object) -> int:
    """Returns the time of an event, which its name contains."""
    return int(event["metadata"]["name"].rpartition(".")[2], 16)


class _Names:
    """Replaces generated names. Objects that are gone are known from events."""

    def __init__(self, objects: list[Object], events: list[Object]) -> None:
        self._replaced: dict[str, str] = {}
        for each in objects:
            metadata = each["metadata"]
            revision = (metadata.get("annotations") or {}).get(_REVISION)
            hashed = (metadata.get("labels") or {}).get("pod-template-hash")
            if each["kind"] == "ReplicaSet" and hashed and revision:
                self._replaced[hashed] = f"REVISION{revision}"
            owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
            if each["kind"] == "ControllerRevision" and "DaemonSet" in owners:
                self._replaced[metadata["labels"]["controller-revision-hash"]] = f"REVISION{each['revision']}"
        # Replica sets without an object, by the order of their events.
        pattern = re.compile(r"replica set (\S+?)-([bcdfghjklmnpqrstvwxz2456789]{6,10}) ")
        for event in sorted(events, key=_place):
            if (match := pattern.search(event.get("note", ""))) and match[2] not in self._replaced:
                self._replaced[match[2]] = f"GONE{len(self._replaced)}"
        # The minute in the name of a cron job's job, times, and uids.
        self._others = {
            # First, because the first part of a uid may look like a minute.
            "UID": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
            "MINUTE": re.compile(r"(?<=-)[0-9]{8}(?![0-9])"),
            "TIME": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"),
            "ADDRESS": re.compile(r"\b10\.\d+\.\d+\.\d+\b"),
        }
        self._pods = re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9-])")

    def in_text(self, text: str) -> str:
        for before, after in self._replaced.items():
            text = text.replace(before, after)
        for after, pattern in self._others.items():
            text = pattern.sub(after, text)
        return self._pods.sub("POD", text)

    def of(self, kind: str, name: str) -> str:
        return self.in_text(name)


def _object(obj: Object, names: _Names) -> Object:
    kind, metadata, status = obj["kind"], obj["metadata"], obj.get("status") or {}
    found: Object = {"kind": kind, "name": names.of(kind, metadata["name"])}
    for field in ("labels", "annotations"):
        if kept := {key: names.in_text(value) for key, value in (metadata.get(field) or {}).items()}:
            found[field] = kept
    owners = [f"{each['kind']} {names.in_text(each['name'])}" for each in metadata.get("ownerReferences") or ()]
    if owners:
        found["owners"] = owners
    if metadata.get("deletionTimestamp"):
        found["deleted"] = True
    spec = _without_version(obj.get("spec") or {})
    found["spec"] = _texts({name: spec[name] for name in _SPEC[kind] if spec.get(name)}, names)
    found["status"] = _texts({name: status[name] for name in _STATUS[kind] if name in status}, names)
    if present := [name for name in _PRESENT.get(kind, ()) if status.get(name)]:
        found["present"] = present
    if kind == "ControllerRevision":
        found["revision"] = obj["revision"]
    for name in _FIELDS.get(kind, ()):
        found[name] = _unordered(_texts(obj.get(name), names))
    if metadata.get("finalizers"):
        found["finalizers"] = list(metadata["finalizers"])
    if kind not in _UNOBSERVED:
        found["observed"] = metadata.get("generation") == status.get("observedGeneration")
    conditions = [
        [each["type"], each["status"], each.get("reason", ""), names.in_text(each.get("message", ""))]
        for each in status.get("conditions") or ()
        if each["type"] != _UNUSED and (kind != "Pod" or each["type"] in _POD_CONDITIONS)
    ]
    found["conditions"] = sorted(conditions)
    return found


def _without_version(spec: Object) -> Object:
    """Returns a spec whose reference to a claim has no resource version."""
    reference = spec.get("claimRef")
    if not reference:
        return spec
    return {**spec, "claimRef": {name: value for name, value in reference.items() if name != "resourceVersion"}}


def _unordered(value: Any) -> Any:
    """Returns a value with sorted lists."""
    if isinstance(value, dict):
        return {key: _unordered(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(each) for each in value), key=str)
    return value


def _texts(value: Any, names: _Names) -> Any:
    if isinstance(value, dict):
        return {key: _texts(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_texts(each, names) for each in value]
    return names.in_text(value) if isinstance(value, str) else value
