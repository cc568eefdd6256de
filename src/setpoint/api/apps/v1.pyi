"""The types of `apps/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from datetime import datetime
from typing import Any, Literal

from setpoint.api.core import v1 as _core_v1
from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class ControllerRevision(Resource):
    """ControllerRevision implements an immutable snapshot of state data. Clients are responsible for serializing and
    deserializing the objects that contain their internal state. Once a ControllerRevision has been successfully
    created, it can not be updated. The API Server will fail validation of all requests that attempt to mutate the
    Data field. ControllerRevisions may, however, be deleted. Note that, due to its use by both the DaemonSet and
    StatefulSet controllers for update and rollback, this object is beta. However, it may be subject to name and
    representation changes in future releases, and clients should not depend on its stability. It is primarily for
    internal use by controllers.
    """

    data: dict[str, Any]
    """Data is the serialized representation of the state."""
    revision: int | None = ...
    """Revision indicates the revision of the state represented by Data."""

class ControllerRevisionList(Model):
    """ControllerRevisionList is a resource containing a list of ControllerRevision objects."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[ControllerRevision]
    """Items is the list of ControllerRevisions"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"""

class DaemonSet(Resource):
    """DaemonSet represents the configuration of a daemon set."""

    spec: DaemonSetSpec = ...
    """The desired behavior of this daemon set. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: DaemonSetStatus = ...
    """The current status of this daemon set. This data may be out of date by some window of time. Populated by the
    system. Read-only. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """

class DaemonSetCondition(Model):
    """DaemonSetCondition describes the state of a DaemonSet at a certain point."""

    last_transition_time: datetime | None = ...
    """Last time the condition transitioned from one status to another."""
    message: str | None = ...
    """A human readable message indicating details about the transition."""
    reason: str | None = ...
    """The reason for the condition's last transition."""
    status: str | None = ...
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = ...
    """Type of DaemonSet condition."""

class DaemonSetList(Model):
    """DaemonSetList is a collection of daemon sets."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[DaemonSet]
    """A list of daemon sets."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class DaemonSetSpec(Model):
    """DaemonSetSpec is the specification of a daemon set."""

    min_ready_seconds: int | None = ...
    """The minimum number of seconds for which a newly created DaemonSet pod should be ready without any of its
    container crashing, for it to be considered available. Defaults to 0 (pod will be considered available as soon
    as it is ready).
    """
    revision_history_limit: int | None = ...
    """The number of old history to retain to allow rollback. This is a pointer to distinguish between explicit zero
    and not specified. Defaults to 10.
    """
    selector: _meta_v1.LabelSelector
    """A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match
    the pod template's labels. More info:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    template: _core_v1.PodTemplateSpec = ...
    """An object that describes the pod that will be created. The DaemonSet will create exactly one copy of this pod on
    every node that matches the template's node selector (or on every node if no node selector is specified). The
    only allowed template.spec.restartPolicy value is "Always". More info:
    https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#pod-template
    """
    update_strategy: DaemonSetUpdateStrategy = ...
    """An update strategy to replace existing DaemonSet pods with new pods."""

class DaemonSetStatus(Model):
    """DaemonSetStatus represents the current status of a daemon set."""

    collision_count: int | None = ...
    """Count of hash collisions for the DaemonSet. The DaemonSet controller uses this field as a collision avoidance
    mechanism when it needs to create the name for the newest ControllerRevision.
    """
    conditions: list[DaemonSetCondition] = ...
    """Represents the latest available observations of a DaemonSet's current state."""
    current_number_scheduled: int
    """The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info:
    https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
    """
    desired_number_scheduled: int
    """The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon
    pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
    """
    number_available: int | None = ...
    """The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and
    available (ready for at least spec.minReadySeconds)
    """
    number_misscheduled: int
    """The number of nodes that are running the daemon pod, but are not supposed to run the daemon pod. More info:
    https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
    """
    number_ready: int
    """numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod
    running with a Ready Condition.
    """
    number_unavailable: int | None = ...
    """The number of nodes that should be running the daemon pod and have none of the daemon pod running and available
    (ready for at least spec.minReadySeconds)
    """
    observed_generation: int | None = ...
    """The most recent generation observed by the daemon set controller."""
    updated_number_scheduled: int | None = ...
    """The total number of nodes that are running updated daemon pod"""

class DaemonSetUpdateStrategy(Model):
    """DaemonSetUpdateStrategy is a struct used to control the update strategy for a DaemonSet."""

    rolling_update: RollingUpdateDaemonSet | None = ...
    """Rolling update config params. Present only if type = "RollingUpdate"."""
    type: Literal["RollingUpdate", "OnDelete"] | str | None = ...
    """Type of daemon set update. Can be "RollingUpdate" or "OnDelete". Default is RollingUpdate."""

class Deployment(Resource):
    """Deployment enables declarative updates for Pods and ReplicaSets."""

    spec: DeploymentSpec = ...
    """Specification of the desired behavior of the Deployment."""
    status: DeploymentStatus = ...
    """Most recently observed status of the Deployment."""

class DeploymentCondition(Model):
    """DeploymentCondition describes the state of a deployment at a certain point."""

    last_transition_time: datetime | None = ...
    """Last time the condition transitioned from one status to another."""
    last_update_time: datetime | None = ...
    """The last time this condition was updated."""
    message: str | None = ...
    """A human readable message indicating details about the transition."""
    reason: str | None = ...
    """The reason for the condition's last transition."""
    status: str | None = ...
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = ...
    """Type of deployment condition."""

class DeploymentList(Model):
    """DeploymentList is a list of Deployments."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[Deployment]
    """Items is the list of Deployments."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata."""

class DeploymentSpec(Model):
    """DeploymentSpec is the specification of the desired behavior of the Deployment."""

    min_ready_seconds: int | None = ...
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing,
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    paused: bool | None = ...
    """Indicates that the deployment is paused."""
    progress_deadline_seconds: int | None = ...
    """The maximum time in seconds for a deployment to make progress before it is considered to be failed. The
    deployment controller will continue to process failed deployments and a condition with a
    ProgressDeadlineExceeded reason will be surfaced in the deployment status. Note that progress will not be
    estimated during the time a deployment is paused. Defaults to 600s.
    """
    replicas: int | None = ...
    """Number of desired pods. This is a pointer to distinguish between explicit zero and not specified. Defaults to 1.
    """
    revision_history_limit: int | None = ...
    """The number of old ReplicaSets to retain to allow rollback. This is a pointer to distinguish between explicit
    zero and not specified. Defaults to 10.
    """
    selector: _meta_v1.LabelSelector
    """Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this
    deployment. It must match the pod template's labels.
    """
    strategy: DeploymentStrategy = ...
    """The deployment strategy to use to replace existing pods with new ones."""
    template: _core_v1.PodTemplateSpec = ...
    """Template describes the pods that will be created. The only allowed template.spec.restartPolicy value is
    "Always".
    """

class DeploymentStatus(Model):
    """DeploymentStatus is the most recently observed status of the Deployment."""

    available_replicas: int | None = ...
    """Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.
    """
    collision_count: int | None = ...
    """Count of hash collisions for the Deployment. The Deployment controller uses this field as a collision avoidance
    mechanism when it needs to create the name for the newest ReplicaSet.
    """
    conditions: list[DeploymentCondition] = ...
    """Represents the latest available observations of a deployment's current state."""
    observed_generation: int | None = ...
    """The generation observed by the deployment controller."""
    ready_replicas: int | None = ...
    """Total number of non-terminating pods targeted by this Deployment with a Ready Condition."""
    replicas: int | None = ...
    """Total number of non-terminating pods targeted by this deployment (their labels match the selector)."""
    terminating_replicas: int | None = ...
    """Total number of terminating pods targeted by this deployment. Terminating pods have a non-null
    .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase.

    This is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default).
    """
    unavailable_replicas: int | None = ...
    """Total number of unavailable pods targeted by this deployment. This is the total number of pods that are still
    required for the deployment to have 100% available capacity. They may either be pods that are running but not
    yet available or pods that still have not been created.
    """
    updated_replicas: int | None = ...
    """Total number of non-terminating pods targeted by this deployment that have the desired template spec."""

class DeploymentStrategy(Model):
    """DeploymentStrategy describes how to replace existing pods with new ones."""

    rolling_update: RollingUpdateDeployment | None = ...
    """Rolling update config params. Present only if DeploymentStrategyType = RollingUpdate."""
    type: Literal["Recreate", "RollingUpdate"] | str | None = ...
    """Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate."""

class ReplicaSet(Resource):
    """ReplicaSet ensures that a specified number of pod replicas are running at any given time."""

    spec: ReplicaSetSpec = ...
    """Spec defines the specification of the desired behavior of the ReplicaSet. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """
    status: ReplicaSetStatus = ...
    """Status is the most recently observed status of the ReplicaSet. This data may be out of date by some window of
    time. Populated by the system. Read-only. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """

class ReplicaSetCondition(Model):
    """ReplicaSetCondition describes the state of a replica set at a certain point."""

    last_transition_time: datetime | None = ...
    """The last time the condition transitioned from one status to another."""
    message: str | None = ...
    """A human readable message indicating details about the transition."""
    reason: str | None = ...
    """The reason for the condition's last transition."""
    status: str | None = ...
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = ...
    """Type of replica set condition."""

class ReplicaSetList(Model):
    """ReplicaSetList is a collection of ReplicaSets."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[ReplicaSet]
    """List of ReplicaSets. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """

class ReplicaSetSpec(Model):
    """ReplicaSetSpec is the specification of a ReplicaSet."""

    min_ready_seconds: int | None = ...
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing,
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    replicas: int | None = ...
    """Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified.
    Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset
    """
    selector: _meta_v1.LabelSelector
    """Selector is a label query over pods that should match the replica count. Label keys and values that must match
    in order to be controlled by this replica set. It must match the pod template's labels. More info:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    template: _core_v1.PodTemplateSpec = ...
    """Template is the object that describes the pod that will be created if insufficient replicas are detected. More
    info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-template
    """

class ReplicaSetStatus(Model):
    """ReplicaSetStatus represents the current status of a ReplicaSet."""

    available_replicas: int | None = ...
    """The number of available non-terminating pods (ready for at least minReadySeconds) for this replica set."""
    conditions: list[ReplicaSetCondition] = ...
    """Represents the latest available observations of a replica set's current state."""
    fully_labeled_replicas: int | None = ...
    """The number of non-terminating pods that have labels matching the labels of the pod template of the replicaset.
    """
    observed_generation: int | None = ...
    """ObservedGeneration reflects the generation of the most recently observed ReplicaSet."""
    ready_replicas: int | None = ...
    """The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition."""
    replicas: int
    """Replicas is the most recently observed number of non-terminating pods. More info:
    https://kubernetes.io/docs/concepts/workloads/controllers/replicaset
    """
    terminating_replicas: int | None = ...
    """The number of terminating pods for this replica set. Terminating pods have a non-null
    .metadata.deletionTimestamp and have not yet reached the Failed or Succeeded .status.phase.

    This is a beta field and requires enabling DeploymentReplicaSetTerminatingReplicas feature (enabled by default).
    """

class RollingUpdateDaemonSet(Model):
    """Spec to control the desired behavior of daemon set rolling update."""

    max_surge: int | str | None = ...
    """The maximum number of nodes with an existing available DaemonSet pod that can have an updated DaemonSet pod
    during during an update. Value can be an absolute number (ex: 5) or a percentage of desired pods (ex: 10%). This
    can not be 0 if MaxUnavailable is 0. Absolute number is calculated from percentage by rounding up to a minimum
    of 1. Default value is 0. Example: when this is set to 30%, at most 30% of the total number of nodes that should
    be running the daemon pod (i.e. status.desiredNumberScheduled) can have their a new pod created before the old
    pod is marked as deleted. The update starts by launching new pods on 30% of nodes. Once an updated pod is
    available (Ready for at least minReadySeconds) the old DaemonSet pod on that node is marked deleted. If the old
    pod becomes unavailable for any reason (Ready transitions to false, is evicted, or is drained) an updated pod is
    immediately created on that node without considering surge limits. Allowing surge implies the possibility that
    the resources consumed by the daemonset on any given node can double if the readiness check fails, and so
    resource intensive daemonsets should take into account that they may cause evictions during disruption.
    """
    max_unavailable: int | str | None = ...
    """The maximum number of DaemonSet pods that can be unavailable during the update. Value can be an absolute number
    (ex: 5) or a percentage of total number of DaemonSet pods at the start of the update (ex: 10%). Absolute number
    is calculated from percentage by rounding up. This cannot be 0 if MaxSurge is 0 Default value is 1. Example:
    when this is set to 30%, at most 30% of the total number of nodes that should be running the daemon pod (i.e.
    status.desiredNumberScheduled) can have their pods stopped for an update at any given time. The update starts by
    stopping at most 30% of those DaemonSet pods and then brings up new DaemonSet pods in their place. Once the new
    pods are available, it then proceeds onto other DaemonSet pods, thus ensuring that at least 70% of original
    number of DaemonSet pods are available at all times during the update.
    """

class RollingUpdateDeployment(Model):
    """Spec to control the desired behavior of rolling update."""

    max_surge: int | str | None = ...
    """The maximum number of pods that can be scheduled above the desired number of pods. Value can be an absolute
    number (ex: 5) or a percentage of desired pods (ex: 10%). This can not be 0 if MaxUnavailable is 0. Absolute
    number is calculated from percentage by rounding up. Defaults to 25%. Example: when this is set to 30%, the new
    ReplicaSet can be scaled up immediately when the rolling update starts, such that the total number of old and
    new pods do not exceed 130% of desired pods. Once old pods have been killed, new ReplicaSet can be scaled up
    further, ensuring that total number of pods running at any time during the update is at most 130% of desired
    pods.
    """
    max_unavailable: int | str | None = ...
    """The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or
    a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding down. This can
    not be 0 if MaxSurge is 0. Defaults to 25%. Example: when this is set to 30%, the old ReplicaSet can be scaled
    down to 70% of desired pods immediately when the rolling update starts. Once new pods are ready, old ReplicaSet
    can be scaled down further, followed by scaling up the new ReplicaSet, ensuring that the total number of pods
    available at all times during the update is at least 70% of desired pods.
    """

class RollingUpdateStatefulSetStrategy(Model):
    """RollingUpdateStatefulSetStrategy is used to communicate parameter for RollingUpdateStatefulSetStrategyType."""

    max_unavailable: int | str | None = ...
    """The maximum number of pods that can be unavailable during the update. Value can be an absolute number (ex: 5) or
    a percentage of desired pods (ex: 10%). Absolute number is calculated from percentage by rounding up. This can
    not be 0. Defaults to 1. This field is beta-level and is enabled by default. The field applies to all pods in
    the range 0 to Replicas-1. That means if there is any unavailable pod in the range 0 to Replicas-1, it will be
    counted towards MaxUnavailable. This setting might not be effective for the OrderedReady podManagementPolicy.
    That policy ensures pods are created and become ready one at a time.
    """
    partition: int | None = ...
    """Partition indicates the ordinal at which the StatefulSet should be partitioned for updates. During a rolling
    update, all pods from ordinal Replicas-1 to Partition are updated. All pods from ordinal Partition-1 to 0 remain
    untouched. This is helpful in being able to do a canary based deployment. The default value is 0.
    """

class StatefulSet(Resource):
    """StatefulSet represents a set of pods with consistent identities. Identities are defined as:
      - Network: A single stable DNS and hostname.
      - Storage: As many VolumeClaims as requested.

    The StatefulSet guarantees that a given network identity will always map to the same storage identity.
    """

    spec: StatefulSetSpec = ...
    """Spec defines the desired identities of pods in this set."""
    status: StatefulSetStatus = ...
    """Status is the current status of Pods in this StatefulSet. This data may be out of date by some window of time.
    """

class StatefulSetCondition(Model):
    """StatefulSetCondition describes the state of a statefulset at a certain point."""

    last_transition_time: datetime | None = ...
    """Last time the condition transitioned from one status to another."""
    message: str | None = ...
    """A human readable message indicating details about the transition."""
    reason: str | None = ...
    """The reason for the condition's last transition."""
    status: str | None = ...
    """Status of the condition, one of True, False, Unknown."""
    type: str | None = ...
    """Type of statefulset condition."""

class StatefulSetList(Model):
    """StatefulSetList is a collection of StatefulSets."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[StatefulSet]
    """Items is the list of stateful sets."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list's metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class StatefulSetOrdinals(Model):
    """StatefulSetOrdinals describes the policy used for replica ordinal assignment in this StatefulSet."""

    start: int | None = ...
    """start is the number representing the first replica's index. It may be used to number replicas from an alternate
    index (eg: 1-indexed) over the default 0-indexed names, or to orchestrate progressive movement of replicas from
    one StatefulSet to another. If set, replica indices will be in the range:
      [.spec.ordinals.start, .spec.ordinals.start + .spec.replicas).
    If unset, defaults to 0. Replica indices will be in the range:
      [0, .spec.replicas).
    """

class StatefulSetPersistentVolumeClaimRetentionPolicy(Model):
    """StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created from the StatefulSet
    VolumeClaimTemplates.
    """

    when_deleted: str | None = ...
    """WhenDeleted specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is
    deleted. The default policy of `Retain` causes PVCs to not be affected by StatefulSet deletion. The `Delete`
    policy causes those PVCs to be deleted.
    """
    when_scaled: str | None = ...
    """WhenScaled specifies what happens to PVCs created from StatefulSet VolumeClaimTemplates when the StatefulSet is
    scaled down. The default policy of `Retain` causes PVCs to not be affected by a scaledown. The `Delete` policy
    causes the associated PVCs for any excess pods above the replica count to be deleted.
    """

class StatefulSetSpec(Model):
    """A StatefulSetSpec is the specification of a StatefulSet."""

    min_ready_seconds: int | None = ...
    """Minimum number of seconds for which a newly created pod should be ready without any of its container crashing
    for it to be considered available. Defaults to 0 (pod will be considered available as soon as it is ready)
    """
    ordinals: StatefulSetOrdinals | None = ...
    """ordinals controls the numbering of replica indices in a StatefulSet. The default ordinals behavior assigns a "0"
    index to the first replica and increments the index by one for each additional replica requested.
    """
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = ...
    """persistentVolumeClaimRetentionPolicy describes the lifecycle of persistent volume claims created from
    volumeClaimTemplates. By default, all persistent volume claims are created as needed and retained until manually
    deleted. This policy allows the lifecycle to be altered, for example by deleting persistent volume claims when
    their stateful set is deleted, or when their pod is scaled down.
    """
    pod_management_policy: Literal["OrderedReady", "Parallel"] | str | None = ...
    """podManagementPolicy controls how pods are created during initial scale up, when replacing pods on nodes, or when
    scaling down. The default policy is `OrderedReady`, where pods are created in increasing order (pod-0, then
    pod-1, etc) and the controller will wait until each pod is ready before continuing. When scaling down, the pods
    are removed in the opposite order. The alternative policy is `Parallel` which will create pods in parallel to
    match the desired scale without waiting, and on scale down will delete all pods at once.
    """
    replicas: int | None = ...
    """replicas is the desired number of replicas of the given Template. These are replicas in the sense that they are
    instantiations of the same Template, but individual replicas also have a consistent identity. If unspecified,
    defaults to 1.
    """
    revision_history_limit: int | None = ...
    """revisionHistoryLimit is the maximum number of revisions that will be maintained in the StatefulSet's revision
    history. The revision history consists of all revisions not represented by a currently applied StatefulSetSpec
    version. The default value is 10.
    """
    selector: _meta_v1.LabelSelector
    """selector is a label query over pods that should match the replica count. It must match the pod template's
    labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    service_name: str | None = ...
    """serviceName is the name of the service that governs this StatefulSet. This service must exist before the
    StatefulSet, and is responsible for the network identity of the set. Pods get DNS/hostnames that follow the
    pattern: pod-specific-string.serviceName.default.svc.cluster.local where "pod-specific-string" is managed by the
    StatefulSet controller.
    """
    template: _core_v1.PodTemplateSpec = ...
    """template is the object that describes the pod that will be created if insufficient replicas are detected. Each
    pod stamped out by the StatefulSet will fulfill this Template, but have a unique identity from the rest of the
    StatefulSet. Each pod will be named with the format <statefulsetname>-<podindex>. For example, a pod in a
    StatefulSet named "web" with index number "3" would be named "web-3". The only allowed
    template.spec.restartPolicy value is "Always".
    """
    update_strategy: StatefulSetUpdateStrategy = ...
    """updateStrategy indicates the StatefulSetUpdateStrategy that will be employed to update Pods in the StatefulSet
    when a revision is made to Template.
    """
    volume_claim_templates: list[_core_v1.PersistentVolumeClaim] = ...
    """volumeClaimTemplates is a list of claims that pods are allowed to reference. The StatefulSet controller is
    responsible for mapping network identities to claims in a way that maintains the identity of a pod. Every claim
    in this list must have at least one matching (by name) volumeMount in one container in the template. A claim in
    this list takes precedence over any volumes in the template, with the same name.
    """

class StatefulSetStatus(Model):
    """StatefulSetStatus represents the current state of a StatefulSet."""

    available_replicas: int | None = ...
    """Total number of available pods (ready for at least minReadySeconds) targeted by this statefulset."""
    collision_count: int | None = ...
    """collisionCount is the count of hash collisions for the StatefulSet. The StatefulSet controller uses this field
    as a collision avoidance mechanism when it needs to create the name for the newest ControllerRevision.
    """
    conditions: list[StatefulSetCondition] = ...
    """Represents the latest available observations of a statefulset's current state."""
    current_replicas: int | None = ...
    """currentReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version
    indicated by currentRevision.
    """
    current_revision: str | None = ...
    """currentRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence
    [0,currentReplicas).
    """
    observed_generation: int | None = ...
    """observedGeneration is the most recent generation observed for this StatefulSet. It corresponds to the
    StatefulSet's generation, which is updated on mutation by the API Server.
    """
    ready_replicas: int | None = ...
    """readyReplicas is the number of pods created for this StatefulSet with a Ready Condition."""
    replicas: int
    """replicas is the number of Pods created by the StatefulSet controller."""
    update_revision: str | None = ...
    """updateRevision, if not empty, indicates the version of the StatefulSet used to generate Pods in the sequence
    [replicas-updatedReplicas,replicas)
    """
    updated_replicas: int | None = ...
    """updatedReplicas is the number of Pods created by the StatefulSet controller from the StatefulSet version
    indicated by updateRevision.
    """

class StatefulSetUpdateStrategy(Model):
    """StatefulSetUpdateStrategy indicates the strategy that the StatefulSet controller will use to perform updates. It
    includes any additional parameters necessary to perform the update for the indicated strategy.
    """

    rolling_update: RollingUpdateStatefulSetStrategy | None = ...
    """RollingUpdate is used to communicate parameters when Type is RollingUpdateStatefulSetStrategyType."""
    type: Literal["RollingUpdate", "OnDelete", "Recreate"] | str | None = ...
    """Type indicates the type of the StatefulSetUpdateStrategy. Default is RollingUpdate."""
