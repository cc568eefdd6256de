"""The types of `scheduling/v1alpha3`. Made by `tools/api_stubs.py`: change that, not this."""

from typing import Literal

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class AllCompositeDisruptionMode(Model):
    """AllCompositeDisruptionMode means that children of a CompositePodGroup can only be disrupted or preempted
    together.
    """

class AllDisruptionMode(Model):
    """AllDisruptionMode specifies that children can only be disrupted together."""

class BasicSchedulingPolicy(Model):
    """BasicSchedulingPolicy indicates that standard Kubernetes scheduling behavior should be used."""

class CompositeBasicSchedulingPolicy(Model):
    """CompositeBasicSchedulingPolicy indicates that the groups belonging to the composite group should be scheduled
    independently.
    """

class CompositeDisruptionMode(Model):
    """CompositeDisruptionMode defines how individual entities within a composite pod group can be disrupted. Exactly
    one mode must be set.
    """

    all: AllCompositeDisruptionMode | None = ...
    """all specifies that all children groups can only be disrupted together."""
    single: SingleCompositeDisruptionMode | None = ...
    """single specifies that children groups can be disrupted independently from each other."""

class CompositeGangSchedulingPolicy(Model):
    """CompositeGangSchedulingPolicy indicates that the groups belonging to the composite group should be scheduled
    using all-or-nothing semantics.
    """

    min_group_count: int
    """minGroupCount is the minimum number of child groups that must be schedulable or scheduled at the same time for
    the scheduler to admit the entire group. It must be a positive integer.
    """

class CompositePodGroup(Resource):
    """CompositePodGroup represents a runtime instance of pod groups grouped together. CompositePodGroups are created
    by workload controllers (LWS, JobSet, etc...) from Workload.compositePodGroupTemplates. CompositePodGroup API
    enablement is toggled by the CompositePodGroup feature gate.
    """

    spec: CompositePodGroupSpec = ...
    """spec defines the desired state of the CompositePodGroup."""
    status: CompositePodGroupStatus = ...
    """status represents the current observed state of the CompositePodGroup."""

class CompositePodGroupList(Model):
    """CompositePodGroupList contains a list of CompositePodGroup resources."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[CompositePodGroup]
    """Items is the list of CompositePodGroups."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata."""

class CompositePodGroupSchedulingConstraints(Model):
    """CompositePodGroupSchedulingConstraints defines scheduling constraints (e.g. topology) for a CompositePodGroup."""

    topology: list[TopologyConstraint] = ...
    """topology defines the topology constraints for the composite pod group. Currently only a single topology
    constraint can be specified. This may change in the future.
    """

class CompositePodGroupSchedulingPolicy(Model):
    """CompositePodGroupSchedulingPolicy defines the scheduling configuration for a CompositePodGroup. Exactly one
    policy must be set.
    """

    basic: CompositeBasicSchedulingPolicy | None = ...
    """basic specifies that the groups of this composite group should be scheduled independently. This field is
    immutable.
    """
    gang: CompositeGangSchedulingPolicy | None = ...
    """gang specifies that the groups of this composite group should be scheduled using all-or-nothing semantics."""

class CompositePodGroupSpec(Model):
    """CompositePodGroupSpec defines the desired state of CompositePodGroup."""

    disruption_mode: CompositeDisruptionMode | None = ...
    """disruptionMode defines the mode in which a given CompositePodGroup can be disrupted. Controllers are expected to
    fill this field by copying it from a CompositePodGroupTemplate. One of Single, All. Defaults to Single if unset.
    This field is immutable.
    """
    parent_composite_pod_group_name: str | None = ...
    """parentCompositePodGroupName contains the name of the parent composite pod group within the same namespace as
    this composite pod group. It must be a DNS name. If it's nil, then this composite pod group is a root of a
    workload's hierarchy. This field is immutable.
    """
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | str | None = ...
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. One of Never,
    PreemptLowerPriority. Defaults to PreemptLowerPriority if unset. When Priority Admission Controller is enabled,
    it populates this field from PriorityClassName, and defaults to PreemptLowerPriority if value is unset in
    PriorityClass. This field is immutable. This field is available only when the PodGroupPreemptionPolicy feature
    gate is enabled.
    """
    priority: int | None = ...
    """priority is the value of priority of this composite pod group. Various system components use this field to find
    the priority of the composite pod group. When Priority Admission Controller is enabled, it prevents users from
    setting this field. The admission controller populates this field from PriorityClassName. The higher the value,
    the higher the priority. This field is immutable.
    """
    priority_class_name: str | None = ...
    """priorityClassName defines the priority that should be considered when scheduling this CompositePodGroup.
    Controllers are expected to fill this field by copying it from a CompositePodGroupTemplate. If left unspecified,
    it is validated and resolved similarly to the PriorityClassName field in Pods (i.e. if no priority class is
    specified, admission control can set this to the global default priority class if it exists. Otherwise, the
    composite pod group's priority will be zero). This field is immutable.
    """
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = ...
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this CompositePodGroup.
    Controllers are expected to fill this field by copying it from a CompositePodGroupTemplate. This field is
    immutable.
    """
    scheduling_policy: CompositePodGroupSchedulingPolicy = ...
    """schedulingPolicy defines the scheduling policy for this instance of the CompositePodGroup. Controllers are
    expected to fill this field by copying it from a CompositePodGroupTemplate. This field is immutable.
    """
    workload_ref: WorkloadReference
    """workloadRef references an optional CompositePodGroup template within the Workload object that was used to create
    the CompositePodGroup. This field is required. This field is immutable.
    """

class CompositePodGroupStatus(Model):
    """CompositePodGroupStatus represents information about the status of a composite pod group."""

    conditions: list[_meta_v1.Condition] = ...
    """conditions represent the latest observations of the CompositePodGroup's state.

    Known condition types: - "CompositePodGroupInitiallyScheduled": Indicates whether the overall scheduling
    requirement
      for the subtree under this CompositePodGroup has been satisfied. Once this condition
      transitions to True, it serves as a terminal state and will never revert to False,
      even if pods are subsequently deleted and group constraints are no longer met.
    - "DisruptionTarget": Indicates whether the CompositePodGroup is about to be terminated
      due to disruption such as preemption.

    Known reasons for the CompositePodGroupInitiallyScheduled condition: - "Unschedulable": The CompositePodGroup's
    subtree could not be placed due to resource constraints,
      affinity/anti-affinity, or topological constraints.
    - "SchedulerError": The CompositePodGroup cannot be scheduled due to some internal error
      that occurred during scheduling.
    - "Invalid": Set to True when kube-scheduler detects an invalid group layout during
      runtime validation. The `message` field details the specific layout violation (such as
      a detected cycle, exceeding the maximum depth of 4, or referencing multiple distinct Workloads).

    Known reasons for the DisruptionTarget condition: - "PreemptionByScheduler": The CompositePodGroup was targeted
    by the scheduler's preemption loop
      to free up capacity for higher-priority preemptors.
    """

class CompositePodGroupTemplate(Model):
    """CompositePodGroupTemplate represents a template for a CompositePodGroup with a scheduling policy."""

    composite_pod_group_templates: list[CompositePodGroupTemplate] = ...
    """compositePodGroupTemplates is the list of templates for children CompositePodGroups. The maximum number of
    templates is 8. At least one entry in CompositePodGroupTemplates or PodGroupTemplates must be set.
    """
    disruption_mode: CompositeDisruptionMode | None = ...
    """disruptionMode defines the mode in which a given CompositePodGroup can be disrupted. One of Single, All. This
    field is immutable.
    """
    name: str
    """name is a unique identifier for the CompositePodGroupTemplate within the Workload. It must be a DNS label. This
    field is required.
    """
    pod_group_templates: list[PodGroupTemplate] = ...
    """podGroupTemplates is the list of templates for children PodGroups. The maximum number of templates is 8. At
    least one entry in CompositePodGroupTemplates or PodGroupTemplates must be set.
    """
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | str | None = ...
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. One of Never,
    PreemptLowerPriority. This field is immutable. This field is available only when the PodGroupPreemptionPolicy
    feature gate is enabled.
    """
    priority: int | None = ...
    """priority is the value of priority of composite pod groups created from this template. Various system components
    use this field to find the priority of the composite pod group. When Priority Admission Controller is enabled,
    it prevents users from setting this field. The admission controller populates this field from PriorityClassName.
    The higher the value, the higher the priority. This field is immutable.
    """
    priority_class_name: str | None = ...
    """priorityClassName indicates the priority that should be considered when scheduling a composite pod group created
    from this template. If no priority class is specified, admission control can set this to the global default
    priority class if it exists. Otherwise, composite pod groups created from this template will have the priority
    set to zero. This field is immutable.
    """
    scheduling_constraints: CompositePodGroupSchedulingConstraints | None = ...
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this
    CompositePodGroupTemplate. This field is immutable.
    """
    scheduling_policy: CompositePodGroupSchedulingPolicy = ...
    """schedulingPolicy defines the scheduling policy for this template."""

class DisruptionMode(Model):
    """DisruptionMode defines how individual entities within a group can be disrupted. Exactly one mode can be set."""

    all: AllDisruptionMode | None = ...
    """all specifies that all children can only be disrupted together."""
    single: SingleDisruptionMode | None = ...
    """single specifies that children can be disrupted independently from each other."""

class GangSchedulingPolicy(Model):
    """GangSchedulingPolicy defines the parameters for gang scheduling."""

    min_count: int
    """minCount is the minimum number of pods that must be schedulable or scheduled at the same time for the scheduler
    to admit the entire group. It must be a positive integer. This field is mutable to support workload scaling.

    Note that the scheduler operates on an eventually consistent model. Updates to minCount may not be immediately
    reflected in scheduling decisions due to propagation delays. If minCount is updated while a scheduling cycle is
    in progress for that group, the new value may not take effect until the next cycle. Moreover, minCount is only
    enforced during scheduling, meaning that modifications to this field do not affect already-scheduled pods,
    applying only to those evaluated in future cycles.
    """

class PodGroup(Resource):
    """PodGroup represents a runtime instance of pods grouped together. PodGroups are created by workload controllers
    (Job, LWS, JobSet, etc...) from Workload.podGroupTemplates. PodGroup API enablement is toggled by the
    GenericWorkload feature gate.
    """

    spec: PodGroupSpec = ...
    """spec defines the desired state of the PodGroup."""
    status: PodGroupStatus = ...
    """status represents the current observed state of the PodGroup."""

class PodGroupList(Model):
    """PodGroupList contains a list of PodGroup resources."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[PodGroup]
    """Items is the list of PodGroups."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata."""

class PodGroupResourceClaim(Model):
    """PodGroupResourceClaim references exactly one ResourceClaim, either directly or by naming a ResourceClaimTemplate
    which is then turned into a ResourceClaim for the PodGroup.

    It adds a name to it that uniquely identifies the ResourceClaim inside the PodGroup. Pods that need access to
    the ResourceClaim define a matching reference in its own Spec.ResourceClaims. The Pod's claim must match all
    fields of the PodGroup's claim exactly.
    """

    name: str
    """name uniquely identifies this resource claim inside the PodGroup. This must be a DNS_LABEL."""
    resource_claim_name: str | None = ...
    """resourceClaimName is the name of a ResourceClaim object in the same namespace as this PodGroup. The
    ResourceClaim will be reserved for the PodGroup instead of its individual pods.

    Exactly one of ResourceClaimName and ResourceClaimTemplateName must be set.
    """
    resource_claim_template_name: str | None = ...
    """resourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace as this PodGroup.

    The template will be used to create a new ResourceClaim, which will be bound to this PodGroup. When this
    PodGroup is deleted, the ResourceClaim will also be deleted. The PodGroup name and resource name, along with a
    generated component, will be used to form a unique name for the ResourceClaim, which will be recorded in
    podgroup.status.resourceClaimStatuses.

    This field is immutable and no changes will be made to the corresponding ResourceClaim by the control plane
    after creating the ResourceClaim.

    Exactly one of ResourceClaimName and ResourceClaimTemplateName must be set.
    """

class PodGroupResourceClaimStatus(Model):
    """PodGroupResourceClaimStatus is stored in the PodGroupStatus for each PodGroupResourceClaim which references a
    ResourceClaimTemplate. It stores the generated name for the corresponding ResourceClaim.
    """

    name: str
    """name uniquely identifies this resource claim inside the PodGroup. This must match the name of an entry in
    podgroup.spec.resourceClaims, which implies that the string must be a DNS_LABEL.
    """
    resource_claim_name: str | None = ...
    """resourceClaimName is the name of the ResourceClaim that was generated for the PodGroup in the namespace of the
    PodGroup. If this is unset, then generating a ResourceClaim was not necessary. The podgroup.spec.resourceClaims
    entry can be ignored in this case.
    """

class PodGroupSchedulingConstraints(Model):
    """PodGroupSchedulingConstraints defines scheduling constraints (e.g. topology) for a PodGroup."""

    topology: list[TopologyConstraint] = ...
    """topology defines the topology constraints for the pod group. Currently only a single topology constraint can be
    specified. This may change in the future.
    """

class PodGroupSchedulingPolicy(Model):
    """PodGroupSchedulingPolicy defines the scheduling configuration for a PodGroup. Exactly one policy must be set.
    The policy is chosen at creation time by setting either the Basic or Gang field. The PodGroup may not change
    policy after creation. Fields within chosen policy may be updated after creation when their individual fields
    allow it.
    """

    basic: BasicSchedulingPolicy | None = ...
    """basic specifies that the pods in this group should be scheduled using standard Kubernetes scheduling behavior.
    Setting this field at group creation time opts this group to basic scheduling; this field cannot be changed
    afterward.
    """
    gang: GangSchedulingPolicy | None = ...
    """gang specifies that the pods in this group should be scheduled using all-or-nothing semantics. Setting this
    field at group creation time opts this group to gang scheduling; this field cannot be set or unset afterward.
    The minCount field within Gang scheduling policy remains mutable after group creation.
    """

class PodGroupSpec(Model):
    """PodGroupSpec defines the desired state of a PodGroup."""

    disruption_mode: DisruptionMode | None = ...
    """disruptionMode defines the mode in which a given PodGroup can be disrupted. Controllers are expected to fill
    this field by copying it from a PodGroupTemplate. One of Single, All. Defaults to Single if unset. This field is
    immutable.
    """
    parent_composite_pod_group_name: str | None = ...
    """parentCompositePodGroupName contains the name of the parent composite pod group within the same namespace as
    this pod group. If it's nil, then this pod group is a root of a workload's hierarchy. This field is used only
    when the CompositePodGroup feature gate is enabled. This field is immutable.
    """
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | str | None = ...
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. One of Never,
    PreemptLowerPriority. Defaults to PreemptLowerPriority if unset. When Priority Admission Controller is enabled,
    it populates this field from PriorityClassName, and defaults to PreemptLowerPriority if value is unset in
    PriorityClass. This field is immutable. This field is available only when the PodGroupPreemptionPolicy feature
    gate is enabled.
    """
    priority: int | None = ...
    """priority is the value of priority of this pod group. Various system components use this field to find the
    priority of the pod group. When Priority Admission Controller is enabled, it prevents users from setting this
    field. The admission controller populates this field from PriorityClassName. The higher the value, the higher
    the priority. This field is immutable.
    """
    priority_class_name: str | None = ...
    """priorityClassName defines the priority that should be considered when scheduling this pod group. Controllers are
    expected to fill this field by copying it from a PodGroupTemplate. Otherwise, it is validated and resolved
    similarly to the PriorityClassName on PodGroupTemplate (i.e. if no priority class is specified, admission
    control can set this to the global default priority class if it exists. Otherwise, the pod group's priority will
    be zero). This field is immutable.
    """
    resource_claims: list[PodGroupResourceClaim] = ...
    """resourceClaims defines which ResourceClaims may be shared among Pods in the group. Pods consume the devices
    allocated to a PodGroup's claim by defining a claim in its own Spec.ResourceClaims that matches the PodGroup's
    claim exactly. The claim must have the same name and refer to the same ResourceClaim or ResourceClaimTemplate.

    This is a beta-level field and requires that the DRAWorkloadResourceClaims feature gate is enabled.

    This field is immutable.
    """
    scheduling_constraints: PodGroupSchedulingConstraints | None = ...
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this PodGroup. Controllers are
    expected to fill this field by copying it from a PodGroupTemplate. This field is immutable. This field is only
    available when the TopologyAwareWorkloadScheduling feature gate is enabled.
    """
    scheduling_policy: PodGroupSchedulingPolicy = ...
    """schedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are expected to
    fill this field by copying it from a PodGroupTemplate.
    """
    workload_ref: WorkloadReference | None = ...
    """workloadRef references an optional PodGroup template within the Workload object that was used to create the
    PodGroup. This field is immutable.
    """

class PodGroupStatus(Model):
    """PodGroupStatus represents information about the status of a pod group."""

    conditions: list[_meta_v1.Condition] = ...
    """conditions represent the latest observations of the PodGroup's state.

    Known condition types: - "PodGroupInitiallyScheduled": Indicates whether the scheduling requirement has been
    satisfied. Once this condition transitions to True, it serves as a terminal state and will never revert to
    False, even if pods are subsequently evicted and group constraints are no longer met. - "DisruptionTarget":
    Indicates whether the PodGroup is about to be terminated
      due to disruption such as preemption.

    Known reasons for the PodGroupInitiallyScheduled condition: - "Unschedulable": The PodGroup cannot be scheduled
    due to resource constraints,
      affinity/anti-affinity rules, or insufficient capacity for the gang.
    - "SchedulerError": The PodGroup cannot be scheduled due to some internal error
      that happened during scheduling, for example due to nodeAffinity parsing errors.

    Known reasons for the DisruptionTarget condition: - "PreemptionByScheduler": The PodGroup was preempted by the
    scheduler to make room for
      higher-priority PodGroups or Pods.
    """
    resource_claim_statuses: list[PodGroupResourceClaimStatus] = ...
    """resourceClaimStatuses is status of resource claims."""

class PodGroupTemplate(Model):
    """PodGroupTemplate represents a template for a set of pods with a scheduling policy."""

    disruption_mode: DisruptionMode | None = ...
    """disruptionMode defines the mode in which a given PodGroup can be disrupted. One of Single, All. This field is
    immutable.
    """
    name: str
    """name is a unique identifier for the PodGroupTemplate within the Workload. It must be a DNS label. This field is
    immutable.
    """
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | str | None = ...
    """preemptionPolicy is the Policy for preempting pods/podgroups with lower priority. One of Never,
    PreemptLowerPriority. This field is immutable. This field is available only when the PodGroupPreemptionPolicy
    feature gate is enabled.
    """
    priority: int | None = ...
    """priority is the value of priority of pod groups created from this template. Various system components use this
    field to find the priority of the pod group. The higher the value, the higher the priority. This field is
    immutable.
    """
    priority_class_name: str | None = ...
    """priorityClassName indicates the priority that should be considered when scheduling a pod group created from this
    template. This field is immutable.
    """
    resource_claims: list[PodGroupResourceClaim] = ...
    """resourceClaims defines which ResourceClaims may be shared among Pods in the group. Pods consume the devices
    allocated to a PodGroup's claim by defining a claim in its own Spec.ResourceClaims that matches the PodGroup's
    claim exactly. The claim must have the same name and refer to the same ResourceClaim or ResourceClaimTemplate.

    This is a beta-level field and requires that the DRAWorkloadResourceClaims feature gate is enabled.

    This field is immutable.
    """
    scheduling_constraints: PodGroupSchedulingConstraints | None = ...
    """schedulingConstraints defines optional scheduling constraints (e.g. topology) for this PodGroupTemplate. This
    field is only available when the TopologyAwareWorkloadScheduling feature gate is enabled. This field is
    immutable.
    """
    scheduling_policy: PodGroupSchedulingPolicy = ...
    """schedulingPolicy defines the scheduling policy for this PodGroupTemplate."""

class SingleCompositeDisruptionMode(Model):
    """SingleCompositeDisruptionMode means that individual children of a CompositePodGroup can be disrupted or
    preempted independently.
    """

class SingleDisruptionMode(Model):
    """SingleDisruptionMode specifies that children can be disrupted independently."""

class TopologyConstraint(Model):
    """TopologyConstraint defines a topology constraint for a PodGroup."""

    key: str
    """key specifies the key of the node label representing the topology domain. All pods within the PodGroup must be
    colocated within the same domain instance. Different PodGroups can land on different domain instances even if
    they derive from the same PodGroupTemplate. Examples: "topology.kubernetes.io/rack"
    """

class TypedLocalObjectReference(Model):
    """TypedLocalObjectReference allows to reference typed object inside the same namespace."""

    api_group: str | None = ...
    """apiGroup is the group for the resource being referenced. If APIGroup is empty, the specified Kind must be in the
    core API group. For any other third-party types, setting APIGroup is required. It must be a DNS subdomain.
    """
    kind: str
    """kind is the type of resource being referenced. It must be a path segment name."""
    name: str
    """name is the name of resource being referenced. It must be a path segment name."""

class Workload(Resource):
    """Workload allows for expressing scheduling constraints that should be used when managing the lifecycle of
    workloads from the scheduling perspective, including scheduling, preemption, eviction and other phases. Workload
    API enablement is toggled by the GenericWorkload feature gate.
    """

    spec: WorkloadSpec = ...
    """spec defines the desired behavior of a Workload."""

class WorkloadList(Model):
    """WorkloadList contains a list of Workload resources."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[Workload]
    """Items is the list of Workloads."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata."""

class WorkloadPodGroupAllDisruptionMode(Model):
    """WorkloadPodGroupAllDisruptionMode indicates that all pods in the group must be disrupted together."""

class WorkloadPodGroupBasicSchedulingPolicy(Model):
    """WorkloadPodGroupBasicSchedulingPolicy indicates standard Kubernetes scheduling behavior."""

class WorkloadPodGroupDisruptionMode(Model):
    """WorkloadPodGroupDisruptionMode defines how individual pods within a group can be disrupted. Exactly one mode
    must be set.
    """

    all: WorkloadPodGroupAllDisruptionMode | None = ...
    """all specifies that all pods in the group must be disrupted together."""
    single: WorkloadPodGroupSingleDisruptionMode | None = ...
    """single specifies that pods can be disrupted independently from each other."""

class WorkloadPodGroupGangSchedulingPolicy(Model):
    """WorkloadPodGroupGangSchedulingPolicy defines the parameters for gang (all-or-nothing) scheduling."""

    min_count: int | None = ...
    """minCount is the minimum number of pods that must be scheduled at the same time for the scheduler to admit the
    entire group. This field is optional. If it is not specified, the controller should inject a context-specific
    sane default (e.g., parallelism for a Job). If set, it must be a positive integer.
    """

class WorkloadPodGroupResourceClaim(Model):
    """WorkloadPodGroupResourceClaim references a dynamic resource claim that is shared across pods in the group."""

    name: str
    """name uniquely identifies this resource claim inside the group. This field is required. It must be a DNS_LABEL.
    """
    resource_claim_name: str | None = ...
    """resourceClaimName is the name of a ResourceClaim object in the same namespace. This field is optional. If it is
    not specified, no resource claim is used. If set, it must be a DNS subdomain.
    """
    resource_claim_template_name: str | None = ...
    """resourceClaimTemplateName is the name of a ResourceClaimTemplate object in the same namespace. This field is
    optional. If it is not specified, no resource claim template is used. If set, it must be a DNS subdomain.
    """

class WorkloadPodGroupSchedulingConstraints(Model):
    """WorkloadPodGroupSchedulingConstraints defines leaf-level scheduling constraints, such as topology."""

    topology: list[TopologyConstraint] = ...
    """topology specifies desired topological placements for all pods within the pod group. If unset, no topology
    placement is requested.
    """

class WorkloadPodGroupSchedulingPolicy(Model):
    """WorkloadPodGroupSchedulingPolicy defines the scheduling policy for a group of pods managed by a workload
    controller. Exactly one policy must be set.
    """

    basic: WorkloadPodGroupBasicSchedulingPolicy | None = ...
    """basic specifies that standard, pod-by-pod Kubernetes scheduling behavior should be used."""
    gang: WorkloadPodGroupGangSchedulingPolicy | None = ...
    """gang specifies all-or-nothing scheduling semantics."""

class WorkloadPodGroupSingleDisruptionMode(Model):
    """WorkloadPodGroupSingleDisruptionMode indicates that individual pods can be disrupted independently."""

class WorkloadReference(Model):
    """WorkloadReference references the Workload object together with the template that was used to create a particular
    PodGroup.
    """

    template_name: str
    """templateName is the name of a template within the Workload object that was used to create a pod group. It must
    be a DNS label. This field is required.
    """
    workload_name: str
    """workloadName is the name of the Workload object that contains a template that was used when creating a pod
    group. It must be a DNS name. This field is required.
    """

class WorkloadSpec(Model):
    """WorkloadSpec defines the desired state of a Workload."""

    composite_pod_group_templates: list[CompositePodGroupTemplate] = ...
    """compositePodGroupTemplates is the list of CompositePodGroup templates that make up the Workload. The maximum
    number of templates is 8. This field is immutable. Exactly one of CompositePodGroupTemplates and
    PodGroupTemplates must be set.

    This field is used only when the CompositePodGroup feature gate is enabled.
    """
    controller_ref: TypedLocalObjectReference | None = ...
    """controllerRef is an optional reference to the controlling object, such as a Deployment or Job. This field is
    intended for use by tools like CLIs to provide a link back to the original workload definition. This field is
    immutable.
    """
    pod_group_templates: list[PodGroupTemplate] = ...
    """podGroupTemplates is the list of templates that make up the Workload. The maximum number of templates is 8.
    Templates cannot be added or removed after the workload is created. Existing templates may still be updated
    where their individual fields allow it. Exactly one of CompositePodGroupTemplates and PodGroupTemplates must be
    set.
    """
