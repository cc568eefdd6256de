"""The types of `meta/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from datetime import datetime
from typing import Any

from setpoint.schema.types import Model
from setpoint.schema.types.meta import ObjectMeta as ObjectMeta
from setpoint.schema.types.meta import OwnerReference as OwnerReference

class APIGroup(Model):
    """APIGroup contains the name, the supported versions, and the preferred version of a group."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    name: str
    """name is the name of the group."""
    preferred_version: GroupVersionForDiscovery = ...
    """preferredVersion is the version preferred by the API server, which probably is the storage version."""
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR] = ...
    """a map of client CIDR to server address that is serving this group. This is to help clients reach servers in the
    most network-efficient way possible. Clients can use the appropriate server address as per the CIDR that they
    match. In case of multiple matches, clients should use the longest matching CIDR. The server returns only those
    CIDRs that it thinks that the client can match. For example: the master will return an internal IP CIDR only, if
    the client reaches the server using an internal IP. Server looks at X-Forwarded-For header or X-Real-Ip header
    or request.RemoteAddr (in that order) to get the client IP.
    """
    versions: list[GroupVersionForDiscovery]
    """versions are the versions supported in this group."""

class APIGroupList(Model):
    """APIGroupList is a list of APIGroup, to allow clients to discover the API at /apis."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    groups: list[APIGroup]
    """groups is a list of APIGroup."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """

class APIResource(Model):
    """APIResource specifies the name of a resource and whether it is namespaced."""

    categories: list[str] = ...
    """categories is a list of the grouped resources this resource belongs to (e.g. 'all')"""
    group: str | None = ...
    """group is the preferred group of the resource.  Empty implies the group of the containing resource list. For
    subresources, this may have a different value, for example: Scale".
    """
    kind: str
    """kind is the kind for the resource (e.g. 'Foo' is the kind for a resource 'foo')"""
    name: str
    """name is the plural name of the resource."""
    namespaced: bool
    """namespaced indicates if a resource is namespaced or not."""
    short_names: list[str] = ...
    """shortNames is a list of suggested short names of the resource."""
    singular_name: str
    """singularName is the singular name of the resource.  This allows clients to handle plural and singular opaquely.
    The singularName is more correct for reporting status on a single item and both singular and plural are allowed
    from the kubectl CLI interface.
    """
    storage_version_hash: str | None = ...
    """The hash value of the storage version, the version this resource is converted to when written to the data store.
    Value must be treated as opaque by clients. Only equality comparison on the value is valid. This is an alpha
    feature and may change or be removed in the future. The field is populated by the apiserver only if the
    StorageVersionHash feature gate is enabled. This field will remain optional even if it graduates.
    """
    verbs: list[str]
    """verbs is a list of supported kube verbs (this includes get, list, watch, create, update, patch, delete,
    deletecollection, and proxy)
    """
    version: str | None = ...
    """version is the preferred version of the resource.  Empty implies the version of the containing resource list For
    subresources, this may have a different value, for example: v1 (while inside a v1beta1 version of the core
    resource's group)".
    """

class APIResourceList(Model):
    """APIResourceList is a list of APIResource, it is used to expose the name of the resources supported in a specific
    group and version, and if the resource is namespaced.
    """

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    group_version: str
    """groupVersion is the group and version this APIResourceList is for."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    resources: list[APIResource]
    """resources contains the name of the resources and if they are namespaced."""

class APIVersions(Model):
    """APIVersions lists the versions that are available, to allow clients to discover the API at /api, which is the
    root path of the legacy v1 API.
    """

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    server_address_by_client_cidrs: list[ServerAddressByClientCIDR]
    """a map of client CIDR to server address that is serving this group. This is to help clients reach servers in the
    most network-efficient way possible. Clients can use the appropriate server address as per the CIDR that they
    match. In case of multiple matches, clients should use the longest matching CIDR. The server returns only those
    CIDRs that it thinks that the client can match. For example: the master will return an internal IP CIDR only, if
    the client reaches the server using an internal IP. Server looks at X-Forwarded-For header or X-Real-Ip header
    or request.RemoteAddr (in that order) to get the client IP.
    """
    versions: list[str]
    """versions are the api versions that are available."""

class Condition(Model):
    """Condition contains details for one aspect of the current state of this API Resource."""

    last_transition_time: datetime
    """lastTransitionTime is the last time the condition transitioned from one status to another. This should be when
    the underlying condition changed.  If that is not known, then using the time when the API field changed is
    acceptable.
    """
    message: str
    """message is a human readable message indicating details about the transition. This may be an empty string."""
    observed_generation: int | None = ...
    """observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if
    .metadata.generation is currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is
    out of date with respect to the current state of the instance.
    """
    reason: str
    """reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers
    of specific condition types may define expected values and meanings for this field, and whether the values are
    considered a guaranteed API. The value should be a CamelCase string. This field may not be empty.
    """
    status: str
    """status of the condition, one of True, False, Unknown."""
    type: str
    """type of condition in CamelCase or in foo.example.com/CamelCase."""

class DeleteOptions(Model):
    """DeleteOptions may be provided when deleting an API object."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    dry_run: list[str] = ...
    """When present, indicates that modifications should not be persisted. An invalid or unrecognized dryRun directive
    will result in an error response and no further processing of the request. Valid values are: - All: all dry run
    stages will be processed
    """
    grace_period_seconds: int | None = ...
    """The duration in seconds before the object should be deleted. Value must be non-negative integer. The value zero
    indicates delete immediately. If this value is nil, the default grace period for the specified type will be
    used. Defaults to a per object value if not specified. zero means delete immediately.
    """
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = ...
    """if set to true, it will trigger an unsafe deletion of the resource in case the normal deletion flow fails with a
    corrupt object error. A resource is considered corrupt if it can not be retrieved from the underlying storage
    successfully because of a) its data can not be transformed e.g. decryption failure, or b) it fails to decode
    into an object. NOTE: unsafe deletion ignores finalizer constraints, skips precondition checks, and removes the
    object from the storage. WARNING: This may potentially break the cluster if the workload associated with the
    resource being unsafe-deleted relies on normal deletion flow. Use only if you REALLY know what you are doing.
    The default value is false, and the user must opt in to enable it
    """
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    orphan_dependents: bool | None = ...
    """Deprecated: please use the PropagationPolicy, this field will be deprecated in 1.7. Should the dependent objects
    be orphaned. If true/false, the "orphan" finalizer will be added to/removed from the object's finalizers list.
    Either this field or PropagationPolicy may be set, but not both.
    """
    preconditions: Preconditions | None = ...
    """Must be fulfilled before a deletion is carried out. If not possible, a 409 Conflict status will be returned."""
    propagation_policy: str | None = ...
    """Whether and how garbage collection will be performed. Either this field or OrphanDependents may be set, but not
    both. The default policy is decided by the existing finalizer set in the metadata.finalizers and the
    resource-specific default policy. Acceptable values are: 'Orphan' - orphan the dependents; 'Background' - allow
    the garbage collector to delete the dependents in the background; 'Foreground' - a cascading policy that deletes
    all dependents in the foreground.
    """

class FieldSelectorRequirement(Model):
    """FieldSelectorRequirement is a selector that contains values, a key, and an operator that relates the key and
    values.
    """

    key: str
    """key is the field selector key that the requirement applies to."""
    operator: str
    """operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists,
    DoesNotExist. The list of operators may grow in the future.
    """
    values: list[str] = ...
    """values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the
    operator is Exists or DoesNotExist, the values array must be empty.
    """

class GroupResource(Model):
    """GroupResource specifies a Group and a Resource, but does not force a version.  This is useful for identifying
    concepts during lookup stages without having partially valid types
    """

    group: str
    resource: str

class GroupVersionForDiscovery(Model):
    """GroupVersion contains the "group/version" and "version" string of a version. It is made a struct to keep
    extensibility.
    """

    group_version: str
    """groupVersion specifies the API group and version in the form "group/version"
    """
    version: str
    """version specifies the version in the form of "version". This is to save the clients the trouble of splitting the
    GroupVersion.
    """

class LabelSelector(Model):
    """A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are
    ANDed. An empty label selector matches all objects. A null label selector matches no objects.
    """

    match_expressions: list[LabelSelectorRequirement] = ...
    """matchExpressions is a list of label selector requirements. The requirements are ANDed."""
    match_labels: dict[str, str] = ...
    """matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an
    element of matchExpressions, whose key field is "key", the operator is "In", and the values array contains only
    "value". The requirements are ANDed.
    """

class LabelSelectorRequirement(Model):
    """A label selector requirement is a selector that contains values, a key, and an operator that relates the key and
    values.
    """

    key: str
    """key is the label key that the selector applies to."""
    operator: str
    """operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and
    DoesNotExist.
    """
    values: list[str] = ...
    """values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the
    operator is Exists or DoesNotExist, the values array must be empty. This array is replaced during a strategic
    merge patch.
    """

class ListMeta(Model):
    """ListMeta describes metadata that synthetic resources must have, including lists and various status objects. A
    resource may have only one of {ObjectMeta, ListMeta}.
    """

    continue_: str | None = ...
    """continue may be set if the user set a limit on the number of items returned, and indicates that the server has
    more data available. The value is opaque and may be used to issue another request to the endpoint that served
    this list to retrieve the next set of available objects. Continuing a consistent list may not be possible if the
    server configuration has changed or more than a few minutes have passed. The resourceVersion field returned when
    using this continue value will be identical to the value in the first response, unless you have received this
    token from an error message.
    """
    remaining_item_count: int | None = ...
    """remainingItemCount is the number of subsequent items in the list which are not included in this list response.
    If the list request contained label or field selectors, then the number of remaining items is unknown and the
    field will be left unset and omitted during serialization. If the list is complete (either because it is not
    chunking or because this is the last chunk), then there are no more remaining items and this field will be left
    unset and omitted during serialization. Servers older than v1.15 do not set this field. The intended use of the
    remainingItemCount is *estimating* the size of a collection. Clients should not rely on the remainingItemCount
    to be set or to be exact.
    """
    resource_version: str | None = ...
    """String that identifies the server's internal version of this object that can be used by clients to determine
    when objects have changed. Value must be treated as opaque by clients and passed unmodified back to the server.
    Populated by the system. Read-only. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency
    """
    self_link: str | None = ...
    """Deprecated: selfLink is a legacy read-only field that is no longer populated by the system."""
    shard_info: ShardInfo | None = ...
    """shardInfo is set when the list is a filtered subset of the full collection, as selected by a shard selector on
    the request. It echoes back the selector so clients can verify which shard they received and merge sharded
    responses. Clients should not cache sharded list responses as a full representation of the collection.

    This is an alpha field and requires enabling the ShardedListAndWatch feature gate.
    """

class ManagedFieldsEntry(Model):
    """ManagedFieldsEntry is a workflow-id, a FieldSet and the group version of the resource that the fieldset applies
    to.
    """

    api_version: str | None = ...
    """APIVersion defines the version of this resource that this field set applies to. The format is "group/version"
    just like the top-level APIVersion field. It is necessary to track the version of a field set because it cannot
    be automatically converted.
    """
    fields_type: str | None = ...
    """FieldsType is the discriminator for the different fields format and version. There is currently only one
    possible value: "FieldsV1"
    """
    fields_v1: dict[str, Any] = ...
    """FieldsV1 holds the first JSON version format as described in the "FieldsV1" type."""
    manager: str | None = ...
    """Manager is an identifier of the workflow managing these fields."""
    operation: str | None = ...
    """Operation is the type of operation which lead to this ManagedFieldsEntry being created. The only valid values
    for this field are 'Apply' and 'Update'.
    """
    subresource: str | None = ...
    """Subresource is the name of the subresource used to update that object, or empty string if the object was updated
    through the main resource. The value of this field is used to distinguish between managers, even if they share
    the same name. For example, a status update will be distinct from a regular update using the same manager name.
    Note that the APIVersion field is not related to the Subresource field and it always corresponds to the version
    of the main resource.
    """
    time: datetime | None = ...
    """Time is the timestamp of when the ManagedFields entry was added. The timestamp will also be updated if a field
    is added, the manager changes any of the owned fields value or removes a field. The timestamp does not update
    when a field is removed from the entry because another manager took it over.
    """

class Preconditions(Model):
    """Preconditions must be fulfilled before an operation (update, delete, etc.) is carried out."""

    resource_version: str | None = ...
    """Specifies the target ResourceVersion"""
    uid: str | None = ...
    """Specifies the target UID."""

class ServerAddressByClientCIDR(Model):
    """ServerAddressByClientCIDR helps the client to determine the server address that they should use, depending on
    the clientCIDR that they match.
    """

    client_cidr: str
    """The CIDR with which clients can match their IP to figure out the server address that they should use."""
    server_address: str
    """Address of this server, suitable for a client that matches the above CIDR. This can be a hostname,
    hostname:port, IP or IP:port.
    """

class ShardInfo(Model):
    """ShardInfo describes the shard selector that was applied to produce a list response. Its presence on a list
    response indicates the list is a filtered subset.
    """

    selector: str
    """selector is the shard selector string from the request, echoed back so clients can verify which shard they
    received and merge responses from multiple shards.
    """

class Status(Model):
    """Status is a return value for calls that don't return other objects."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    code: int | None = ...
    """Suggested HTTP return code for this status, 0 if not set."""
    details: StatusDetails | None = ...
    """Extended data associated with the reason.  Each reason may define its own extended details. This field is
    optional and the data returned is not guaranteed to conform to any schema except that defined by the reason
    type.
    """
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    message: str | None = ...
    """A human-readable description of the status of this operation."""
    metadata: ListMeta = ...
    """Standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    reason: str | None = ...
    """A machine-readable description of why this operation is in the "Failure" status. If this value is empty there is
    no information available. A Reason clarifies an HTTP status code but does not override it.
    """
    status: str | None = ...
    """Status of the operation. One of: "Success" or "Failure". More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """

class StatusCause(Model):
    """StatusCause provides more information about an api.Status failure, including cases when multiple errors are
    encountered.
    """

    field: str | None = ...
    """The field of the resource that has caused this error, as named by its JSON serialization. May include dot and
    postfix notation for nested attributes. Arrays are zero-indexed.  Fields may appear more than once in an array
    of causes due to fields having multiple errors. Optional.

    Examples:
      "name" - the field "name" on the current resource
      "items[0].name" - the field "name" on the first array entry in "items"
    """
    message: str | None = ...
    """A human-readable description of the cause of the error.  This field may be presented as-is to a reader."""
    reason: str | None = ...
    """A machine-readable description of the cause of the error. If this value is empty there is no information
    available.
    """

class StatusDetails(Model):
    """StatusDetails is a set of additional properties that MAY be set by the server to provide additional information
    about a response. The Reason field of a Status object defines what attributes will be set. Clients must ignore
    fields that do not match the defined type of each attribute, and should assume that any attribute may be empty,
    invalid, or under defined.
    """

    causes: list[StatusCause] = ...
    """The Causes array includes more details associated with the StatusReason failure. Not all StatusReasons may
    provide detailed causes.
    """
    group: str | None = ...
    """The group attribute of the resource associated with the status StatusReason."""
    kind: str | None = ...
    """The kind attribute of the resource associated with the status StatusReason. On some operations may differ from
    the requested resource Kind. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    name: str | None = ...
    """The name attribute of the resource associated with the status StatusReason (when there is a single name which
    can be described).
    """
    retry_after_seconds: int | None = ...
    """If specified, the time in seconds before the operation should be retried. Some errors may indicate the client
    must take an alternate action - for those errors this field may indicate how long to wait before taking the
    alternate action.
    """
    uid: str | None = ...
    """UID of the resource. (when there is a single resource which can be described). More info:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#uids
    """

class WatchEvent(Model):
    """Event represents a single event to a watched resource."""

    object: dict[str, Any]
    """Object is:
     * If Type is Added or Modified: the new state of the object.
     * If Type is Deleted: the state of the object immediately before deletion.
     * If Type is Error: *Status is recommended; other types may make sense
       depending on context.
    """
    type: str
