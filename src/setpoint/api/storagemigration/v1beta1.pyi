"""The types of `storagemigration/v1beta1`. Made by `tools/api_stubs.py`: change that, not this."""

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import Model, Resource

class StorageVersionMigration(Resource):
    """StorageVersionMigration represents a migration of stored data to the latest storage version."""

    spec: StorageVersionMigrationSpec = ...
    """Specification of the migration."""
    status: StorageVersionMigrationStatus = ...
    """Status of the migration."""

class StorageVersionMigrationList(Model):
    """StorageVersionMigrationList is a collection of storage version migrations."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[StorageVersionMigration]
    """Items is the list of StorageVersionMigration"""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class StorageVersionMigrationSpec(Model):
    """Spec of the storage version migration."""

    resource: _meta_v1.GroupResource = ...
    """The resource that is being migrated. The migrator sends requests to the endpoint serving the resource.
    Immutable.
    """

class StorageVersionMigrationStatus(Model):
    """Status of the storage version migration."""

    conditions: list[_meta_v1.Condition] = ...
    """The latest available observations of the migration's current state."""
    resource_version: str | None = ...
    """ResourceVersion to compare with the GC cache for performing the migration. This is the current resource version
    of given group, version and resource when kube-controller-manager first observes this StorageVersionMigration
    resource.
    """
