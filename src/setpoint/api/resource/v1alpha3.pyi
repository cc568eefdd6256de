"""The types of `resource/v1alpha3`. Made by `tools/api_stubs.py`: change that, not this."""

from datetime import datetime
from typing import Literal

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Quantity, Resource

class DeviceTaint(Model):
    """The device this taint is attached to has the "effect" on any claim which does not tolerate the taint and,
    through the claim, to pods using the claim.
    """

    effect: Literal["None", "NoSchedule", "NoExecute"] | str
    """The effect of the taint on claims that do not tolerate the taint and through such claims on the pods using them.

    Valid effects are None, NoSchedule and NoExecute. PreferNoSchedule as used for nodes is not valid here. More
    effects may get added in the future. Consumers must treat unknown effects like None.
    """
    key: str
    """The taint key to be applied to a device. Must be a label name."""
    time_added: datetime | None = ...
    """TimeAdded represents the time at which the taint was added or (only in a DeviceTaintRule) the effect was
    modified. Added automatically during create or update if not set.

    In addition, in a DeviceTaintRule a value provided during an update gets replaced with the current time if the
    provided value is the same as the old one and the new effect is different. Changing the key and/or value while
    keeping the effect unchanged is possible and does not update the time stamp because the eviction which uses it
    is either already started (NoExecute) or not started yet (NoEffect, NoSchedule).
    """
    value: str | None = ...
    """The taint value corresponding to the taint key. Must be a label value."""

class DeviceTaintRule(Resource):
    """DeviceTaintRule adds one taint to all devices which match the selector. This has the same effect as if the taint
    was specified directly in the ResourceSlice by the DRA driver.
    """

    spec: DeviceTaintRuleSpec = ...
    """Spec specifies the selector and one taint.

    Changing the spec automatically increments the metadata.generation number.
    """
    status: DeviceTaintRuleStatus = ...
    """Status provides information about what was requested in the spec."""

class DeviceTaintRuleList(Model):
    """DeviceTaintRuleList is a collection of DeviceTaintRules."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[DeviceTaintRule]
    """Items is the list of DeviceTaintRules."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata"""

class DeviceTaintRuleSpec(Model):
    """DeviceTaintRuleSpec specifies the selector and one taint."""

    device_selector: DeviceTaintSelector | None = ...
    """DeviceSelector defines which device(s) the taint is applied to. All selector criteria must be satisfied for a
    device to match. The empty selector matches all devices. Without a selector, no devices are matches.
    """
    taint: DeviceTaint = ...
    """The taint that gets applied to matching devices."""

class DeviceTaintRuleStatus(Model):
    """DeviceTaintRuleStatus provides information about an on-going pod eviction."""

    conditions: list[_meta_v1.Condition] = ...
    """Conditions provide information about the state of the DeviceTaintRule and the cluster at some point in time, in
    a machine-readable and human-readable format.

    The following condition is currently defined as part of this API, more may get added: - Type: EvictionInProgress
    - Status: True if there are currently pods which need to be evicted, False otherwise
      (includes the effects which don't cause eviction).
    - Reason: not specified, may change - Message: includes information about number of pending pods and already
    evicted pods
      in a human-readable format, updated periodically, may change

    For `effect: None`, the condition above gets set once for each change to the spec, with the message containing
    information about what would happen if the effect was `NoExecute`. This feedback can be used to decide whether
    changing the effect to `NoExecute` will work as intended. It only gets set once to avoid having to constantly
    update the status.

    Must have 8 or fewer entries.
    """

class DeviceTaintSelector(Model):
    """DeviceTaintSelector defines which device(s) a DeviceTaintRule applies to. The empty selector matches all
    devices. Without a selector, no devices are matched.
    """

    device: str | None = ...
    """If device is set, only devices with that name are selected. This field corresponds to slice.spec.devices[].name.

    Setting also driver and pool may be required to avoid ambiguity, but is not required.
    """
    driver: str | None = ...
    """If driver is set, only devices from that driver are selected. This fields corresponds to slice.spec.driver."""
    pool: str | None = ...
    """If pool is set, only devices in that pool are selected.

    Also setting the driver name may be useful to avoid ambiguity when different drivers use the same pool name, but
    this is not required because selecting pools from different drivers may also be useful, for example when drivers
    with node-local devices use the node name as their pool name.
    """

class PartitionTypeStatus(Model):
    """PartitionTypeStatus reports allocatability for a single partition type, identified by the value of a grouping
    attribute.
    """

    allocatable: int
    """Allocatable is the number of additional devices of this partition type that could still be allocated given
    current shared-counter consumption.
    """
    attribute: str
    """Attribute is the fully qualified name of the device attribute whose value groups this entry. It is the
    PartitionTypeAttribute declared by the devices' own slice, or the default named in the request when their slice
    declares none.
    """
    total: int
    """Total is the number of devices of this partition type in the pool."""
    type: str
    """Type is the partition type value (e.g. "Full" or "Half")."""

class PoolStatus(Model):
    """PoolStatus contains status information for a single resource pool."""

    allocated_devices: int | None = ...
    """AllocatedDevices is the number of devices currently allocated to claims. A value of 0 means no devices are
    allocated. May be unset when validationError is set.
    """
    available_devices: int | None = ...
    """AvailableDevices is the number of devices available for allocation. This equals TotalDevices - AllocatedDevices
    - UnavailableDevices. A value of 0 means no devices are currently available. May be unset when validationError
    is set.
    """
    driver: str
    """Driver is the DRA driver name for this pool. Must be a DNS subdomain (e.g., "gpu.example.com")."""
    generation: int
    """Generation is the pool generation observed across all ResourceSlices in this pool. Only the latest generation is
    reported. During a generation rollout, if not all slices at the latest generation have been published, the pool
    is included with a validationError and device counts unset.
    """
    node_name: str | None = ...
    """NodeName is the node this pool is associated with. When omitted, the pool is not associated with a specific
    node. Must be a valid DNS subdomain name (RFC1123).
    """
    partition_summary: list[PartitionTypeStatus] = ...
    """PartitionSummary reports allocatability per (attribute, partition type) for a partitionable pool that publishes
    SharedCounters. Each entry names the grouping attribute it was resolved from: the PartitionTypeAttribute
    declared by a device's own slice, or for devices whose slice declares none, the default named in the request. A
    pool that mixes partitions declared under different attributes reports each independently. When no slice
    declares an attribute and the request names no default, the pool reports no partition summary.
    """
    pool_name: str
    """PoolName is the name of the pool. Must be a valid resource pool name (DNS subdomains separated by "/")."""
    resource_slice_count: int | None = ...
    """ResourceSliceCount is the number of ResourceSlices that make up this pool. May be unset when validationError is
    set.
    """
    shareable_summary: ShareableSummaryStatus | None = ...
    """ShareableSummary reports aggregate capacity for a pool that contains devices with AllowMultipleAllocations. It
    is populated only when at least one device in the pool is shareable.
    """
    total_devices: int | None = ...
    """TotalDevices is the total number of devices in the pool across all slices. A value of 0 means the pool has no
    devices. May be unset when validationError is set.
    """
    unavailable_devices: int | None = ...
    """UnavailableDevices is the number of devices that are not available due to taints or other conditions, but are
    not allocated. A value of 0 means all unallocated devices are available. May be unset when validationError is
    set.
    """
    validation_error: str | None = ...
    """ValidationError is set when the pool's data could not be fully validated (e.g., incomplete slice publication).
    When set, device count fields and ResourceSliceCount may be unset.
    """

class ResourcePoolStatusRequest(Resource):
    """ResourcePoolStatusRequest triggers a one-time calculation of resource pool status based on the provided filters.
    Once status is set, the request is considered complete and will not be reprocessed. Users should delete and
    recreate requests to get updated information.
    """

    spec: ResourcePoolStatusRequestSpec = ...
    """Spec defines the filters for which pools to include in the status. The spec is immutable once created."""
    status: ResourcePoolStatusRequestStatus | None = ...
    """Status is populated by the controller with the calculated pool status. When status is non-nil, the request is
    considered complete and the entire object becomes immutable.
    """

class ResourcePoolStatusRequestList(Model):
    """ResourcePoolStatusRequestList is a collection of ResourcePoolStatusRequests."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[ResourcePoolStatusRequest]
    """Items is the list of ResourcePoolStatusRequests."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata"""

class ResourcePoolStatusRequestSpec(Model):
    """ResourcePoolStatusRequestSpec defines the filters for the pool status request."""

    default_partition_type_attribute: str | None = ...
    """DefaultPartitionTypeAttribute optionally names a device attribute (by its fully qualified name, e.g.
    "gpu.example.com/profile") to use as the default grouping attribute for partitionable devices whose slice has
    not declared one themselves.

    A slice's own PartitionTypeAttribute always takes precedence. This default applies only to devices whose slice
    does not declare one, so that a request can still get an accurate partitionSummary from a driver that has not
    been updated to declare it. When neither the slice nor this default names an attribute, a partitionable pool
    reports no partitionSummary.

    Must include the domain qualifier.
    """
    driver: str
    """Driver specifies the DRA driver name to filter pools. Only pools from ResourceSlices with this driver will be
    included. Must be a DNS subdomain (e.g., "gpu.example.com").
    """
    limit: int | None = ...
    """Limit optionally specifies the maximum number of pools to return in the status. If more pools match the filter
    criteria, the response will be truncated (i.e., len(status.pools) < status.poolCount).

    Default: 100 Minimum: 1 Maximum: 1000
    """
    pool_name: str | None = ...
    """PoolName optionally filters to a specific pool name. If not specified, all pools from the specified driver are
    included. When specified, must be a non-empty valid resource pool name (DNS subdomains separated by "/").
    """

class ResourcePoolStatusRequestStatus(Model):
    """ResourcePoolStatusRequestStatus contains the calculated pool status information."""

    conditions: list[_meta_v1.Condition] = ...
    """Conditions provide information about the state of the request. A condition with type=Complete or type=Failed
    will always be set when the status is populated.

    Known condition types: - "Complete": True when the request has been processed successfully - "Failed": True when
    the request could not be processed
    """
    pool_count: int
    """PoolCount is the total number of pools that matched the filter criteria, regardless of truncation. This helps
    users understand how many pools exist even when the response is truncated. A value of 0 means no pools matched
    the filter criteria.
    """
    pools: list[PoolStatus] = ...
    """Pools contains the first `spec.limit` matching pools, sorted by driver then pool name. If `len(pools) <
    poolCount`, the list was truncated. When omitted, no pools matched the request filters.
    """

class ShareableCapacityStatus(Model):
    """ShareableCapacityStatus reports aggregate amounts for a single shareable capacity key."""

    available: Quantity
    """Available is Total minus Consumed, never negative."""
    consumed: Quantity
    """Consumed is the amount drawn by current allocations."""
    name: str
    """Name is the capacity name."""
    total: Quantity
    """Total is the sum of this capacity across shareable devices in the pool."""

class ShareableSummaryStatus(Model):
    """ShareableSummaryStatus reports aggregate capacity for a pool that contains devices with
    AllowMultipleAllocations.
    """

    capacity: list[ShareableCapacityStatus] = ...
    """Capacity reports aggregate total, consumed, and available amounts per shareable capacity key across the pool.
    """
    fully_available_devices: int
    """FullyAvailableDevices is the number of shareable devices with no capacity consumed."""
    partially_available_devices: int
    """PartiallyAvailableDevices is the number of shareable devices with some but not all capacity consumed."""
