"""The types of `coordination/v1alpha2`. Made by `tools/api_stubs.py`: change that, not this."""

from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import MicroTime, Model, Resource

class LeaseCandidate(Resource):
    """LeaseCandidate defines a candidate for a Lease object. Candidates are created such that coordinated leader
    election will pick the best leader from the list of candidates.
    """

    spec: LeaseCandidateSpec = ...
    """spec contains the specification of the Lease. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#spec-and-status
    """

class LeaseCandidateList(Model):
    """LeaseCandidateList is a list of Lease objects."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[LeaseCandidate]
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

class LeaseCandidateSpec(Model):
    """LeaseCandidateSpec is a specification of a Lease."""

    binary_version: str
    """binaryVersion is the binary version. It must be in a semver format without leading `v`. This field is required.
    """
    emulation_version: str | None = ...
    """emulationVersion is the emulation version. It must be in a semver format without leading `v`. EmulationVersion
    must be less than or equal to BinaryVersion. This field is required when strategy is "OldestEmulationVersion"
    """
    lease_name: str
    """leaseName is the name of the lease for which this candidate is contending. This field is immutable."""
    ping_time: MicroTime | None = ...
    """pingTime is the last time that the server has requested the LeaseCandidate to renew. It is only done during
    leader election to check if any LeaseCandidates have become ineligible. When PingTime is updated, the
    LeaseCandidate will respond by updating RenewTime.
    """
    renew_time: MicroTime | None = ...
    """renewTime is the time that the LeaseCandidate was last updated. Any time a Lease needs to do leader election,
    the PingTime field is updated to signal to the LeaseCandidate that they should update the RenewTime. Old
    LeaseCandidate objects are also garbage collected if it has been hours since the last renew. The PingTime field
    is updated regularly to prevent garbage collection for still active LeaseCandidates.
    """
    strategy: str
    """strategy is the strategy that coordinated leader election will use for picking the leader. If multiple
    candidates for the same Lease return different strategies, the strategy provided by the candidate with the
    latest BinaryVersion will be used. If there is still conflict, this is a user error and coordinated leader
    election will not operate the Lease until resolved.
    """
