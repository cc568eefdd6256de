"""What several workload kinds have in common: environment variables, modes, conditions, dependencies.

The words are DCP's where DCP has the thing, so that its clients read and write these objects unchanged; what is ours
stands beside them in the same style. A field that is only documented to have a default in DCP gets it from the server.
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
    Model,
    NoDefault,
    Pattern,
    Rule,
)
from setpoint.schema.types import rule as class_rule

# Optional fields that mean the same when they are absent: the server adds nothing to the object.
Flag: TypeAlias = Annotated[bool, NoDefault()]
Text: TypeAlias = Annotated[str, NoDefault()]
Count: TypeAlias = Annotated[Int32, NoDefault(), Minimum(0)]
Name: TypeAlias = Annotated[str, MinLength(1), MaxLength(253)]
PortNumber: TypeAlias = Annotated[Int32, Minimum(1), Maximum(65535)]
# A port to be chosen when it is 0, which is how Go's clients say nothing.
PortOrAny: TypeAlias = Annotated[Int32, NoDefault(), Minimum(0), Maximum(65535)]
# A span as Go writes it. The `duration` format alone takes more than Go's parser does, signs and weeks among it.
Span: TypeAlias = Annotated[Duration, Pattern(r"^([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$"), MaxLength(32)]

Protocol: TypeAlias = Literal["TCP", "UDP"]
ExecutableMode: TypeAlias = Literal["session", "persistent", "cleanup"]
ContainerMode: TypeAlias = Literal["session", "persistent", "existing", "cleanup"]
Mode: TypeAlias = ContainerMode
HealthStatus: TypeAlias = Literal["Healthy", "Caution", "Unhealthy"]

AGE = Column("Age", ".metadata.creationTimestamp")


def immutable(field: str, *, absent: str = "", remedy: str = "delete the object and create it anew") -> Rule:
    """An update may not change the field. `absent` is the CEL value that an absent field stands for."""
    if absent:
        same = f"(has(self.{field}) ? self.{field} : {absent}) == (has(oldSelf.{field}) ? oldSelf.{field} : {absent})"
    else:
        same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return Rule(
        rule=same,
        message=f"{field} cannot be changed once the object is made; {remedy}",
        reason="FieldValueForbidden",
        field_path=f".{field}",
    )


def _effective_mode(of: str) -> str:
    return f"({of}.?persistent.orValue(false) ? 'persistent' : has({of}.mode) ? {of}.mode : 'session')"


EFFECTIVE_MODE = _effective_mode("self")

MODE_IS_IMMUTABLE = Rule(
    rule=f"{EFFECTIVE_MODE} == {_effective_mode('oldSelf')}",
    message="mode cannot be changed once the object is made; delete the object and create it anew",
    reason="FieldValueForbidden",
    field_path=".mode",
)


def reuses_existing(mode: Mode) -> bool:
    """Whether something that an earlier session left is taken over."""
    return mode != "session"


def creates_if_missing(mode: Mode) -> bool:
    """Whether it is made where there is none."""
    return mode in ("session", "persistent")


def ends_with_object(mode: Mode) -> bool:
    """Whether it is stopped and removed when its object is deleted."""
    return mode in ("session", "cleanup")


@class_rule(
    f"!has(self.monitorPid) || {EFFECTIVE_MODE} == 'persistent'",
    message="monitorPid is for persistent objects; set persistent to true, or leave it out",
    reason="FieldValueForbidden",
    field_path=".monitorPid",
)
@class_rule(
    f"!has(self.monitorTimestamp) || {EFFECTIVE_MODE} == 'persistent'",
    message="monitorTimestamp is for persistent objects; set persistent to true, or leave it out",
    reason="FieldValueForbidden",
    field_path=".monitorTimestamp",
)
@class_rule(
    "!has(self.monitorPid) || has(self.monitorTimestamp)",
    message="monitorTimestamp must be set with monitorPid: a pid alone may be given to another process",
    reason="FieldValueRequired",
    field_path=".monitorTimestamp",
)
@class_rule(
    "!has(self.monitorTimestamp) || has(self.monitorPid)",
    message="monitorPid must be set with monitorTimestamp",
    reason="FieldValueRequired",
    field_path=".monitorPid",
)
class Lifetime(Model):
    """When a workload starts and stops, and whether it outlives the control plane."""

    start: bool = True
    """Whether it should be started. It can be set to true later on, and never back to false."""

    stop: Flag = False
    """Whether it should be stopped. Once set it stays."""

    suspend: Flag = False
    """Whether it should be stopped for the time being: false again starts it again."""

    max_restarts: Annotated[Int32, Minimum(0)] | None = None
    """How often in a row it is started again, by its policy or its liveness probe, before it stays as it is; for ever
    when absent. A life as long as `restartBackoff.resetAfter`, or a restart on request, begins a new row."""

    mode: ContainerMode | None = None
    """How long it lives: session (the default), persistent (outlives the control plane and is found again), existing
    (somebody else's, used and left), or cleanup (takes over what is there, and removes it with the object). Ignored
    when `persistent` is set."""

    persistent: Flag = False
    """The short form of `mode: persistent`."""

    lifecycle_key: Text = ""
    """What tells whether one that is still there is the wanted one; computed from the spec when empty."""

    monitor_pid: Annotated[Int64, Minimum(1)] | None = None
    """A process with whose end this persistent workload is stopped."""

    monitor_timestamp: MicroTime | None = None
    """When the process of `monitorPid` started, because pids are used again."""

    @property
    def effective_mode(self) -> Mode:
        """The mode that counts: `persistent` overrides `mode`, and neither means session."""
        return "persistent" if self.persistent else self.mode or "session"


LIFETIME_RULES = (
    Rule(
        rule="self.start || !oldSelf.start",
        message="start cannot go back to false; set stop to true to stop it",
        reason="FieldValueForbidden",
        field_path=".start",
    ),
    Rule(
        rule="!oldSelf.?stop.orValue(false) || self.?stop.orValue(false)",
        message="stop cannot be taken back; delete the object and create it anew to start it again",
        reason="FieldValueForbidden",
        field_path=".stop",
    ),
    immutable("persistent", absent="false"),
    MODE_IS_IMMUTABLE,
    immutable("monitorPid"),
    immutable("monitorTimestamp"),
)


class EnvVar(Model):
    """An environment variable."""

    name: Annotated[str, MinLength(1), Pattern("^[^=\\x00]+$")]
    """The name of the variable."""

    value: Text = ""
    """Its value; a template where the kind says so."""


class Label(Model):
    """A label that the container engine keeps with a thing."""

    key: Annotated[str, MinLength(1)]
    """The name of the label."""

    value: Annotated[str, MinLength(1)]
    """Its value."""


class Condition(Model):
    """One thing that is so or not, with the reason and what to do about it."""

    type: Annotated[str, MaxLength(316)]
    """What it is about: Started, Ready and so on."""

    status: Literal["True", "False", "Unknown"]
    """Whether it is so."""

    observed_generation: Annotated[int, NoDefault(), Minimum(0)] = 0
    """The generation of the object that this was said of."""

    last_transition_time: datetime
    """When the status flipped."""

    reason: Annotated[str, MaxLength(1024)]
    """One word that programs can read."""

    message: Annotated[str, MaxLength(32768)]
    """What happened and what to do about it, for people."""


class PemCertificate(Model):
    """A certificate in PEM form."""

    thumbprint: Annotated[str, MinLength(1)]
    """The thumbprint, which names its file."""

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
    message="condition must be Started or Ready for this kind: it never finishes",
    field_path=".condition",
)
class Dependency(Model):
    """Another object that must have come so far before this one starts."""

    kind: DependencyKind
    """The kind of the other object."""

    name: Name
    """The name of the other object."""

    condition: DependencyCondition = "Ready"
    """How far it must have come: Started, Ready (started and healthy), Finished, or Succeeded (with exit code 0)."""

    restart: Flag = False
    """Whether this one is started again whenever the other was, once that has come so far again."""


class RestartBackoff(Model):
    """How long to wait before the next restart: doubled each time, back to the first after a good while."""

    initial: Span = Duration(seconds=1)
    """The wait before the first restart."""

    max: Span = Duration(seconds=60)
    """The longest wait."""

    reset_after: Span = Duration(seconds=60)
    """After running this long without an exit the wait is the first again."""


class FileWatch(Model):
    """Files whose change restarts the workload."""

    paths: Annotated[list[str], MinItems(1)]
    """Files, directories (with all below them) and glob patterns, relative to the working directory."""

    ignore: list[str] = []
    """Glob patterns of what does not count."""

    action: Literal["Restart", "Rebuild"] = "Restart"
    """What a change leads to. Rebuild builds the image anew first, where there is one to build."""

    debounce: Span = Duration(milliseconds=200)
    """How long no further change must come before it counts."""


class Served(Model):
    """A Service that this workload serves: the typed form of the annotation `service-producer`."""

    service: Name
    """The name of the Service."""

    port: PortNumber | None = None
    """The port it listens on. An Executable gets a free one when this is absent; a Container must say which."""

    address: Text = ""
    """The address it listens on, localhost when absent."""


class LogLimits(Model):
    """How much of the output is kept."""

    max_bytes: Annotated[int, Minimum(4096)] | None = None
    """The size at which a new file is begun."""

    max_files: Annotated[Int32, Minimum(1), Maximum(1000)] | None = None
    """How many files are kept; the oldest goes first."""


@class_rule(
    "self.socketMode != 'connect' || self.?udsPath.orValue('') != ''",
    message="udsPath is required with socketMode connect: it is the socket to dial",
    reason="FieldValueRequired",
    field_path=".udsPath",
)
class TerminalSpec(Model):
    """A pseudo-terminal, bridged to a Unix socket by HMP v1. With a terminal there are no logs."""

    uds_path: Text = ""
    """The path of the socket. When listening one is made if this is empty; see `status.terminalSocketPath`."""

    socket_mode: Literal["listen", "connect"] = "listen"
    """Whether we own the socket and listen, or dial one that a peer owns."""

    cols: Annotated[Int32, Minimum(0), Maximum(32767)] = 80
    """Columns at the start; 0 means 80."""

    rows: Annotated[Int32, Minimum(0), Maximum(32767)] = 24
    """Rows at the start; 0 means 24."""


EnvVars: TypeAlias = Annotated[list[EnvVar], ListMap("name")]
Conditions: TypeAlias = Annotated[list[Condition], ListMap("type")]
Dependencies: TypeAlias = Annotated[list[Dependency], ListMap("kind", "name"), MaxItems(256)]
Serves: TypeAlias = Annotated[list[Served], ListMap("service"), MaxItems(256)]
Moment: TypeAlias = MicroTime | None
