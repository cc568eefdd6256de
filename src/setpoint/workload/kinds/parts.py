"""Types that several workload kinds share: environment variables, modes, conditions, dependencies.

The names are DCP's where DCP has a field, so that its clients read and write these objects unchanged; additional fields
follow the same style. Defaults that DCP only documents are set by the server.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import (
    Column,
    Duration,
    Int32,
    Int64,
    ListMap,
    Maximum,
    MaxItems,
    MaxLength,
    MicroTime,
    Minimum,
    MinItems,
    MinLength,
    NoDefault,
    Pattern,
    Rule,
)
from setpoint.schema.types import rule as class_rule
from setpoint.workload.kinds.kind_model import KindModel

# Optional fields whose default equals their absence: the server does not add them to the object.
Flag: TypeAlias = Annotated[bool, NoDefault()]
Text: TypeAlias = Annotated[str, NoDefault()]
Count: TypeAlias = Annotated[Int32, NoDefault(), Minimum(0)]
Name: TypeAlias = Annotated[str, MinLength(1), MaxLength(253)]
PortNumber: TypeAlias = Annotated[Int32, Minimum(1), Maximum(65535)]
# A port that is chosen if 0, which Go's clients send for an unset field.
PortOrAny: TypeAlias = Annotated[Int32, NoDefault(), Minimum(0), Maximum(65535)]
# A duration in Go's format. The `duration` format alone accepts more than Go's parser, e.g. signs and weeks.
Span: TypeAlias = Annotated[Duration, Pattern(r"^([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$"), MaxLength(32)]

# Clients of DCP write protocols in any of these forms.
Protocol: TypeAlias = Literal["TCP", "UDP", "tcp", "udp", "Tcp", "Udp"]
ExecutableMode: TypeAlias = Literal["session", "persistent", "cleanup"]
ContainerMode: TypeAlias = Literal["session", "persistent", "existing", "cleanup"]
Mode: TypeAlias = ContainerMode
HealthStatus: TypeAlias = Literal["Healthy", "Caution", "Unhealthy"]

AGE = Column("Age", ".metadata.creationTimestamp")


def immutable(field: str, *, absent: str = "", remedy: str = "delete the object and create it again") -> Rule:
    """Returns a rule that an update may not change the field. `absent` is the CEL value of an absent field."""
    if absent:
        same = f"(has(self.{field}) ? self.{field} : {absent}) == (has(oldSelf.{field}) ? oldSelf.{field} : {absent})"
    else:
        same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return Rule(
        rule=same,
        message=f"{field} is immutable; {remedy}",
        reason="FieldValueForbidden",
        field_path=f".{field}",
    )


def _effective_mode(of: str) -> str:
    return f"({of}.?persistent.orValue(false) ? 'persistent' : has({of}.mode) ? {of}.mode : 'session')"


EFFECTIVE_MODE = _effective_mode("self")

MODE_IS_IMMUTABLE = Rule(
    rule=f"{EFFECTIVE_MODE} == {_effective_mode('oldSelf')}",
    message="mode is immutable; delete the object and create it again",
    reason="FieldValueForbidden",
    field_path=".mode",
)


def reuses_existing(mode: Mode) -> bool:
    """Returns True if an existing resource of an earlier session is used."""
    return mode != "session"


def creates_if_missing(mode: Mode) -> bool:
    """Returns True if a missing resource is created."""
    return mode in ("session", "persistent")


def ends_with_object(mode: Mode) -> bool:
    """Returns True if the resource is stopped and removed when its object is deleted."""
    return mode in ("session", "cleanup")


@class_rule(
    f"!has(self.monitorPid) || {EFFECTIVE_MODE} == 'persistent'",
    message="monitorPid is only allowed for persistent objects; set persistent to true, or remove it",
    reason="FieldValueForbidden",
    field_path=".monitorPid",
)
@class_rule(
    f"!has(self.monitorTimestamp) || {EFFECTIVE_MODE} == 'persistent'",
    message="monitorTimestamp is only allowed for persistent objects; set persistent to true, or remove it",
    reason="FieldValueForbidden",
    field_path=".monitorTimestamp",
)
@class_rule(
    "!has(self.monitorPid) || has(self.monitorTimestamp)",
    message="monitorTimestamp must be set with monitorPid: a pid may be reused by another process",
    reason="FieldValueRequired",
    field_path=".monitorTimestamp",
)
@class_rule(
    "!has(self.monitorTimestamp) || has(self.monitorPid)",
    message="monitorPid must be set with monitorTimestamp",
    reason="FieldValueRequired",
    field_path=".monitorPid",
)
class Lifetime(KindModel):
    """The start, stop and lifetime of a workload."""

    start: bool = True
    """Starts the workload. The field can be changed to true later, but not back to false."""

    stop: Flag = False
    """Stops the workload. The field cannot be reset."""

    suspend: Flag = False
    """Suspends the workload: resetting to false starts the workload again."""

    max_restarts: Annotated[Int32, Minimum(0)] | None = None
    """The maximum number of consecutive restarts by the restart policy or the liveness probe; unlimited if absent. A
    run of at least `restartBackoff.resetAfter`, or a requested restart, resets the count."""

    mode: ContainerMode | None = None
    """The lifetime: session (the default), persistent (outlives the control plane and is found again), existing
    (created by others, used and not removed), or cleanup (an existing resource, removed with the object). Ignored if
    `persistent` is set."""

    persistent: Flag = False
    """The short form of `mode: persistent`."""

    lifecycle_key: Text = ""
    """The key that an existing resource must have to be reused; computed from the spec if empty."""

    monitor_pid: Annotated[Int64, Minimum(1)] | None = None
    """The pid of a process; this persistent workload is stopped when the process ends."""

    monitor_timestamp: MicroTime | None = None
    """The start time of the process of `monitorPid`, because pids are reused."""

    @property
    def effective_mode(self) -> Mode:
        """The effective mode: `persistent` overrides `mode`; the default is session."""
        return "persistent" if self.persistent else self.mode or "session"


LIFETIME_RULES = (
    Rule(
        rule="self.start || !oldSelf.start",
        message="start cannot be reset to false; set stop to true to stop the workload",
        reason="FieldValueForbidden",
        field_path=".start",
    ),
    Rule(
        rule="!oldSelf.?stop.orValue(false) || self.?stop.orValue(false)",
        message="stop cannot be reset to false; delete the object and create it again to start the workload",
        reason="FieldValueForbidden",
        field_path=".stop",
    ),
    immutable("persistent", absent="false"),
    MODE_IS_IMMUTABLE,
    immutable("monitorPid"),
    immutable("monitorTimestamp"),
)


class EnvVar(KindModel):
    """An environment variable."""

    name: Annotated[str, MinLength(1), Pattern("^[^=\\x00]+$")]
    """The name of the variable."""

    value: Text = ""
    """The value; a template if the kind supports templates."""


class Label(KindModel):
    """A label of a resource in the container engine."""

    key: Annotated[str, MinLength(1)]
    """The name of the label."""

    value: Annotated[str, MinLength(1)]
    """The value of the label."""


class Condition(KindModel):
    """A condition of an object, with its reason and message."""

    type: Annotated[str, MaxLength(316)]
    """The type of the condition, e.g. Started or Ready."""

    status: Literal["True", "False", "Unknown"]
    """The status of the condition."""

    observed_generation: Annotated[int, NoDefault(), Minimum(0)] = 0
    """The generation of the object that the status refers to."""

    last_transition_time: datetime
    """The time of the last change of the status."""

    reason: Annotated[str, MaxLength(1024)]
    """The machine-readable reason."""

    message: Annotated[str, MaxLength(32768)]
    """The human-readable message, with the remedy."""


class PemCertificate(KindModel):
    """A certificate in PEM format."""

    thumbprint: Annotated[str, MinLength(1)]
    """The thumbprint, which is the name of the file."""

    contents: Annotated[str, MinLength(1)]
    """The certificate, PEM encoded."""


DependencyKind: TypeAlias = Literal[
    "Container",
    "ContainerExec",
    "ContainerNetwork",
    "ContainerNetworkTunnelProxy",
    "ContainerVolume",
    "Executable",
    "ExecutableReplicaSet",
    "Service",
    "Task",
]
DependencyCondition: TypeAlias = Literal["Started", "Ready", "Finished", "Succeeded"]


@class_rule(
    "self.kind in ['Executable', 'ExecutableReplicaSet', 'Container', 'ContainerExec', 'Task'] || "
    "self.condition in ['Started', 'Ready']",
    message="condition must be Started or Ready for this kind, which never finishes",
    field_path=".condition",
)
class Dependency(KindModel):
    """A condition of another object that must be met before this one starts."""

    kind: DependencyKind
    """The kind of the other object."""

    name: Name
    """The name of the other object."""

    condition: DependencyCondition = "Ready"
    """The required condition: Started, Ready (started and healthy), Finished, or Succeeded (with exit code 0)."""

    restart: Flag = False
    """Restarts this object whenever the other was restarted and has met the condition again."""

    optional: Flag = False
    """Starts this object also if the other one has failed: ended, unhealthy, or unable to start."""


class RestartBackoff(KindModel):
    """The delay before a restart: doubled after each failure, and reset after a long enough run."""

    initial: Span = Duration(seconds=1)
    """The delay before the first restart."""

    max: Span = Duration(seconds=60)
    """The maximum delay."""

    reset_after: Span = Duration(seconds=60)
    """The duration of a run after which the delay is reset to the initial one."""


class FileWatch(KindModel):
    """Files whose changes restart the workload."""

    paths: Annotated[list[str], MinItems(1)]
    """Files, directories (recursively) and glob patterns, relative to the working directory."""

    ignore: list[str] = []
    """Glob patterns of ignored files."""

    include: list[str] = []
    """Glob patterns of the only files to consider; all files if empty."""

    action: Literal["Restart", "Rebuild"] = "Restart"
    """The action on a change. Rebuild also builds the image again, if the spec has a build."""

    debounce: Span = Duration(milliseconds=200)
    """The quiet period after the last change before the action."""


class Served(KindModel):
    """A Service that this workload serves: the typed form of the annotation `service-producer`."""

    service: Name
    """The name of the Service."""

    port: PortNumber | None = None
    """The port on which the workload listens. An Executable gets a free port if absent; a Container requires the
    port."""

    address: Text = ""
    """The address on which the workload listens; localhost if absent."""


class LogLimits(KindModel):
    """The limits of the stored output."""

    max_bytes: Annotated[int, Minimum(4096)] | None = None
    """The maximum size of a file."""

    max_files: Annotated[Int32, Minimum(1), Maximum(1000)] | None = None
    """The maximum number of files; the oldest is deleted first."""


@class_rule(
    "self.socketMode != 'connect' || self.?udsPath.orValue('') != ''",
    message="udsPath is required with socketMode connect: the path of the socket to dial",
    reason="FieldValueRequired",
    field_path=".udsPath",
)
class TerminalSpec(KindModel):
    """A pseudo-terminal, bridged to a Unix socket by HMP v1. A workload with a terminal has no logs."""

    uds_path: Text = ""
    """The path of the socket. If empty and listening, a path is chosen; see `status.terminalSocketPath`."""

    socket_mode: Literal["listen", "connect"] = "listen"
    """listen: the control plane owns the socket. connect: the control plane dials a socket of a peer."""

    cols: Annotated[Int32, Minimum(0), Maximum(32767)] = 80
    """The initial number of columns; 0 means 80."""

    rows: Annotated[Int32, Minimum(0), Maximum(32767)] = 24
    """The initial number of rows; 0 means 24."""


EnvVars: TypeAlias = Annotated[list[EnvVar], ListMap("name")]
Conditions: TypeAlias = Annotated[list[Condition], ListMap("type")]
Dependencies: TypeAlias = Annotated[list[Dependency], ListMap("kind", "name"), MaxItems(256)]
Serves: TypeAlias = Annotated[list[Served], ListMap("service"), MaxItems(256)]
Moment: TypeAlias = MicroTime | None
