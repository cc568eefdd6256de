"""The types of `apiserverinternal/v1alpha1`. Made by `tools/api_stubs.py`: change that, not this."""

from datetime import datetime

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class ServerStorageVersion(Model):
    """An API server instance reports the version it can decode and the version it encodes objects to when persisting
    objects in the backend.
    """

    api_server_id: str
    """apiServerID is the ID of the reporting API server."""
    decodable_versions: list[str]
    """decodableVersions are the encoding versions the API server can handle to decode. The API server can decode
    objects encoded in these versions. The encodingVersion must be included in the decodableVersions.
    """
    encoding_version: str
    """encodingVersion the API server encodes the object to when persisting it in the backend (e.g., etcd)."""
    served_versions: list[str] = ...
    """servedVersions lists all versions the API server can serve. DecodableVersions must include all ServedVersions.
    """

class StorageVersion(Resource):
    """Storage version of a specific resource."""

    spec: StorageVersionSpec = ...
    """spec is an empty spec. It is here to comply with Kubernetes API style."""
    status: StorageVersionStatus = ...
    """status on the version the API server instance can decode from and encode objects to when persisting objects in
    the backend.
    """

class StorageVersionCondition(Model):
    """Describes the state of the storageVersion at a certain point."""

    last_transition_time: datetime | None = ...
    """lastTransitionTime is the last time the condition transitioned from one status to another."""
    message: str
    """message is a human readable string indicating details about the transition."""
    observed_generation: int | None = ...
    """observedGeneration represents the .metadata.generation that the condition was set based upon, if field is set.
    """
    reason: str
    """reason for the condition's last transition."""
    status: str
    """status of the condition, one of True, False, Unknown."""
    type: str
    """type of the condition."""

class StorageVersionList(Model):
    """A list of StorageVersions."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[StorageVersion]
    """Items holds a list of StorageVersion"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class StorageVersionSpec(Model):
    """StorageVersionSpec is an empty spec."""

class StorageVersionStatus(Model):
    """API server instances report the versions they can decode and the version they encode objects to when persisting
    objects in the backend.
    """

    common_encoding_version: str | None = ...
    """commonEncodingVersion is set to an encoding storage version if all API server instances share that same version.
    If they don't share one storage version, this field is left empty. API servers should finish updating its
    storageVersionStatus entry before serving write operations, so that this field will be in sync with the reality.
    """
    conditions: list[StorageVersionCondition] = ...
    """conditions lists the latest available observations of the storageVersion's state."""
    storage_versions: list[ServerStorageVersion] = ...
    """storageVersions lists the reported versions per API server instance."""
