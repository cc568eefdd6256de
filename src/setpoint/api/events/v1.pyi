"""The types of `events/v1`. Made by `tools/api_stubs.py`: change that, not this."""

from datetime import datetime

from setpoint.api.core import v1 as _core_v1
from setpoint.api.meta import v1 as _meta_v1
from setpoint.schema.types import MicroTime, Model, Resource

class Event(Resource):
    """Event is a report of an event somewhere in the cluster. It generally denotes some state change in the system.
    Events have a limited retention time and triggers and messages may evolve with time.  Event consumers should not
    rely on the timing of an event with a given Reason reflecting a consistent underlying trigger, or the continued
    existence of events with that Reason.  Events should be treated as informative, best-effort, supplemental data.
    """

    action: str | None = ...
    """action is what action was taken/failed regarding to the regarding object. It is machine-readable. This field
    cannot be empty for new Events and it can have at most 128 characters.
    """
    deprecated_count: int | None = ...
    """deprecatedCount is the deprecated field assuring backward compatibility with core.v1 Event type."""
    deprecated_first_timestamp: datetime | None = ...
    """deprecatedFirstTimestamp is the deprecated field assuring backward compatibility with core.v1 Event type."""
    deprecated_last_timestamp: datetime | None = ...
    """deprecatedLastTimestamp is the deprecated field assuring backward compatibility with core.v1 Event type."""
    deprecated_source: _core_v1.EventSource = ...
    """deprecatedSource is the deprecated field assuring backward compatibility with core.v1 Event type."""
    event_time: MicroTime
    """eventTime is the time when this Event was first observed. It is required."""
    note: str | None = ...
    """note is a human-readable description of the status of this operation. Maximal length of the note is 1kB, but
    libraries should be prepared to handle values up to 64kB.
    """
    reason: str | None = ...
    """reason is why the action was taken. It is human-readable. This field cannot be empty for new Events and it can
    have at most 128 characters.
    """
    regarding: _core_v1.ObjectReference = ...
    """regarding contains the object this Event is about. In most cases it's an Object reporting controller implements,
    e.g. ReplicaSetController implements ReplicaSets and this event is emitted because it acts on some changes in a
    ReplicaSet object.
    """
    related: _core_v1.ObjectReference | None = ...
    """related is the optional secondary object for more complex actions. E.g. when regarding object triggers a
    creation or deletion of related object.
    """
    reporting_controller: str | None = ...
    """reportingController is the name of the controller that emitted this Event, e.g. `kubernetes.io/kubelet`. This
    field cannot be empty for new Events.
    """
    reporting_instance: str | None = ...
    """reportingInstance is the ID of the controller instance, e.g. `kubelet-xyzf`. This field cannot be empty for new
    Events and it can have at most 128 characters.
    """
    series: EventSeries | None = ...
    """series is data about the Event series this event represents or nil if it's a singleton Event."""
    type: str | None = ...
    """type is the type of this event (Normal, Warning), new types could be added in the future. It is
    machine-readable. This field cannot be empty for new Events.
    """

class EventList(Model):
    """EventList is a list of Event objects."""

    api_version: str | None = ...
    """APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized
    schemas to the latest internal value, and may reject unrecognized values. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources
    """
    items: list[Event]
    """items is a list of schema objects."""
    kind: str | None = ...
    """Kind is a string value representing the REST resource this object represents. Servers may infer this from the
    endpoint the client submits requests to. Cannot be updated. In CamelCase. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
    """
    metadata: _meta_v1.ListMeta = ...
    """metadata is the standard list metadata. More info:
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
    """

class EventSeries(Model):
    """EventSeries contain information on series of events, i.e. thing that was/is happening continuously for some
    time. How often to update the EventSeries is up to the event reporters. The default event reporter in
    "k8s.io/client-go/tools/events/event_broadcaster.go" shows how this struct is updated on heartbeats and can
    guide customized reporter implementations.
    """

    count: int
    """count is the number of occurrences in this series up to the last heartbeat time."""
    last_observed_time: MicroTime
    """lastObservedTime is the time when last Event from the series was seen before last heartbeat."""
