"""The types of `coordination/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import MicroTime, Model, Resource

class Lease(Resource):
    """Lease defines a lease concept."""

    spec: LeaseSpec = ...
    """spec contains the specification of the Lease. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """

class LeaseList(Model):
    """LeaseList is a list of Lease objects."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[Lease]
    """items is a list of schema objects."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """Standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class LeaseSpec(Model):
    """LeaseSpec is a specification of a Lease."""

    acquire_time: MicroTime | None = ...
    """acquireTime is a time when the current lease was acquired."""
    holder_identity: str | None = ...
    """holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used,
    the holder identity must be equal to the elected LeaseCandidate.metadata.name field.
    """
    lease_duration_seconds: int | None = ...
    """leaseDurationSeconds is a duration that candidates for a lease need to wait to force acquire it. This is
    measured against the time of last observed renewTime.
    """
    lease_transitions: int | None = ...
    """leaseTransitions is the number of transitions of a lease between holders."""
    preferred_holder: str | None = ...
    """preferredHolder signals to a lease holder that the lease has a more optimal holder and should be given up. This
    field can only be set if Strategy is also set.
    """
    renew_time: MicroTime | None = ...
    """renewTime is a time when the current holder of a lease has last updated the lease."""
    strategy: str | None = ...
    """strategy indicates the strategy for picking the leader for coordinated leader election. If the field is not
    specified, there is no active coordination for this lease. (Alpha) Using this field requires the
    CoordinatedLeaderElection feature gate to be enabled.
    """
