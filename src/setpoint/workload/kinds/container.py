"""Container: one container of Docker or Podman."""

from typing import Annotated, Literal, TypeAlias

import msgspec

from setpoint.schema.types import (
    Column,
    Duration,
    Int32,
    Int64,
    ListMap,
    MaxItems,
    Minimum,
    MinLength,
    NoDefault,
    Pattern,
    Quantity,
    Resource,
    Rule,
    rule,
)
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.file_action import FileActions, SyncStatus
from setpoint.workload.kinds.files import ContainerPemCertificates, CreateFileSystem, ImageLayer
from setpoint.workload.kinds.health_probes import HealthProbeResults, HealthProbes
from setpoint.workload.kinds.image import ContainerBuild, Ulimit
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import (
    AGE,
    EFFECTIVE_MODE,
    LIFETIME_RULES,
    Conditions,
    Count,
    Dependencies,
    EnvVar,
    EnvVars,
    FileWatch,
    Flag,
    HealthStatus,
    Label,
    Lifetime,
    LogLimits,
    Moment,
    Name,
    PortNumber,
    PortOrAny,
    Protocol,
    RestartBackoff,
    Serves,
    Span,
    TerminalSpec,
    Text,
    immutable,
)

ContainerState: TypeAlias = Literal[
    "",
    "Pending",
    "RuntimeUnhealthy",
    "Building",
    "Starting",
    "NotFound",
    "FailedToStart",
    "Running",
    "Paused",
    "Stopping",
    "Exited",
    "Unknown",
]
DONE: frozenset[ContainerState] = frozenset({"FailedToStart", "Exited", "Unknown"})


@rule(
    "self.type != 'bind' || self.?source.orValue('') != ''",
    message="source is required for a bind mount: the directory or file on this machine",
    reason="FieldValueRequired",
    field_path=".source",
)
class VolumeMount(KindModel):
    """A directory or volume that is mounted into the container."""

    type: Literal["bind", "volume"]
    """bind: a directory or file of this machine. volume: a volume of the engine."""

    source: Text = ""
    """The path on this machine, or the name of the volume; a volume without a name is anonymous."""

    target: Annotated[str, MinLength(1)]
    """The path in the container."""

    read_only: Flag = False
    """Mounts the directory or volume read-only."""


class ContainerPort(KindModel):
    """A port of the container that is reachable from this machine."""

    host_port: PortOrAny = 0
    """The port on this machine; chosen by the engine if absent."""

    container_port: PortNumber
    """The port in the container."""

    protocol: Protocol = "TCP"
    """TCP or UDP."""

    host_ip: Text = msgspec.field(name="hostIP", default="")
    """The address on this machine; 127.0.0.1 if absent."""


class NetworkAttachment(KindModel):
    """A network that the container is connected to."""

    name: Name
    """The name of the ContainerNetwork object."""

    aliases: list[str] = []
    """Names of the container in that network."""

    ipv4_address: Annotated[str, NoDefault()] = msgspec.field(name="ipv4Address", default="")
    """The IPv4 address of the container; chosen by the engine if empty."""

    ipv6_address: Annotated[str, NoDefault()] = msgspec.field(name="ipv6Address", default="")
    """The IPv6 address of the container; chosen by the engine if empty."""

    link_local_addresses: list[str] = []
    """Additional link-local addresses."""

    mac_address: Text = ""
    """The MAC address in that network."""

    driver_options: dict[str, str] = {}
    """Options of the network driver for this container."""

    gateway_priority: Annotated[Int64, NoDefault()] = 0
    """The network with the highest number has the default gateway."""


class Resources(KindModel):
    """The resource limits of the container."""

    cpus: Quantity | None = None
    """The CPU limit, e.g. `1.5` or `500m`."""

    memory: Quantity | None = None
    """The memory limit, e.g. `512Mi`."""

    pids: Annotated[Int64, Minimum(1)] | None = None
    """The maximum number of processes and threads."""


class HealthCheck(KindModel):
    """A health check that the engine runs in the container, instead of the image's own."""

    command: list[str] = []
    """The program and its arguments. An empty command disables the image's health check."""

    interval: Span | None = None
    """The time between runs."""

    timeout: Span | None = None
    """The timeout of one run."""

    start_period: Span | None = None
    """The time after the start during which failures do not count."""

    start_interval: Span | None = None
    """The time between runs during the start period."""

    retries: Annotated[Int32, Minimum(1)] | None = None
    """The number of consecutive failures after which the container is unhealthy."""


@rule(
    f"!({EFFECTIVE_MODE} in ['session', 'persistent']) || has(self.build) || self.?image.orValue('') != ''",
    message="image or build must be set",
    reason="FieldValueRequired",
    field_path=".image",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.?containerName.orValue('') != ''",
    message="containerName must be set in every mode except session: the container is found by this name",
    reason="FieldValueRequired",
    field_path=".containerName",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || !has(self.terminal)",
    message="terminal is only allowed in mode session",
    reason="FieldValueForbidden",
    field_path=".terminal",
)
class ContainerSpec(Lifetime):
    """The desired state of a Container."""

    image: Annotated[str, NoDefault(), Pattern(r"^[^\s\x00-\x1f]*$")] = ""
    """The image; with `build`, the name of the built image."""

    build: ContainerBuild | None = None
    """The build of the image."""

    container_name: Annotated[str, NoDefault(), Pattern("^([a-zA-Z0-9][a-zA-Z0-9_.-]+)?$")] = ""
    """The name in the engine; derived from the object's name if empty."""

    volume_mounts: list[VolumeMount] = []
    """The mounted directories and volumes."""

    ports: list[ContainerPort] = []
    """The ports that are reachable from this machine."""

    env: EnvVars = []
    """Environment variables. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv); later files win, `env` wins over all."""

    restart_policy: Literal["no", "on-failure", "unless-stopped", "always"] | None = None
    """The engine's restart policy."""

    restart_backoff: RestartBackoff | None = None
    """The delay before a restart; if set, the control plane restarts the container instead of the engine."""

    command: Text = ""
    """The entry point; replaces the image's own."""

    args: list[str] = []
    """The arguments of the entry point. Each may be a template."""

    networks: list[NetworkAttachment] | None = None
    """The networks of the container. If absent, the engine's default network, unmanaged; a list (even an empty one) is
    managed, and may change while the container runs."""

    run_args: list[str] = []
    """Additional flags of the engine's command line."""

    labels: list[Label] = []
    """The labels in the engine."""

    health_probes: HealthProbes = []
    """The health probes."""

    pull_policy: Literal["always", "missing", "never"] | None = None
    """The policy for pulling the image; missing if absent."""

    pull_retry_limit: Annotated[Int32, Minimum(0)] | None = None
    """The number of retries of a failed pull."""

    create_files: Annotated[list[CreateFileSystem], MaxItems(64)] = []
    """Files to write into the container before its start."""

    image_layers: list[ImageLayer] = []
    """Layers to add to the image."""

    pem_certificates: ContainerPemCertificates | None = None
    """Certificates to write into the container."""

    terminal: TerminalSpec | None = None
    """A pseudo-terminal to run in."""

    resources: Resources | None = None
    """The resource limits."""

    user: Text = ""
    """The user of its processes: a name or a number, optionally with `:group`."""

    working_directory: Text = ""
    """The working directory of the entry point."""

    cap_add: list[str] = []
    """Added Linux capabilities."""

    cap_drop: list[str] = []
    """Dropped Linux capabilities."""

    privileged: Flag = False
    """Runs the container in privileged mode."""

    tmpfs: list[str] = []
    """Paths in the container that are kept in memory, optionally with `:options`."""

    ulimits: Annotated[list[Ulimit], ListMap("name")] = []
    """The limits of its processes."""

    extra_hosts: list[str] = []
    """Additional host names, as `name:address`; the address host-gateway is this machine."""

    devices: list[str] = []
    """Devices of this machine, as `host[:container[:permissions]]`."""

    healthcheck: HealthCheck | None = None
    """A health check that the engine runs, instead of the image's own."""

    stop_signal: Annotated[str, NoDefault(), Pattern(r"^(SIG[A-Z0-9+]{1,12})?$")] = ""
    """The stop signal; the image's own if empty, or else SIGTERM."""

    stop_timeout: Span = Duration(seconds=10)
    """The time between the stop signal and the kill."""

    depends_on: Dependencies = []
    """The objects that must be started, ready or finished before the start."""

    watch: FileWatch | None = None
    """Files whose changes restart or rebuild the container."""

    file_actions: FileActions = []
    """Files that are copied into the container when they change, and further actions on changes of files."""

    serves: Serves = []
    """The Services that the container serves; each requires a port."""

    logs: LogLimits | None = None
    """The limits of the stored output."""


class ContainerStatus(KindModel):
    """The observed state of a Container."""

    state: Annotated[ContainerState, NoDefault()] = ""
    """The lifecycle state."""

    container_id: Text = ""
    """Its id in the engine."""

    container_name: Text = ""
    """Its name in the engine."""

    startup_timestamp: Moment = None
    """The time of the last start or attempted start."""

    finish_timestamp: Moment = None
    """The time of the end."""

    startup_std_out_file: Text = ""
    """The file with the output of building, pulling, creating and starting the container."""

    startup_std_err_file: Text = ""
    """The file with the errors of building, pulling, creating and starting the container."""

    terminal_socket_path: Text = ""
    """The socket of its terminal."""

    exit_code: Int32 | None = None
    """The exit code; absent if unknown."""

    message: Text = ""
    """The error message."""

    effective_env: list[EnvVar] = []
    """The environment with all templates filled in; values from secrets are masked."""

    effective_args: list[str] = []
    """The arguments with all templates filled in; values from secrets are masked."""

    networks: list[str] = []
    """The ContainerNetwork objects to which the container is connected."""

    health_status: HealthStatus | None = None
    """The health of the workload."""

    health_probe_results: HealthProbeResults = []
    """The last result of each probe."""

    lifecycle_key: Text = ""
    """The lifecycle key of the container."""

    conditions: Conditions = []
    """The conditions Started and Ready."""

    restart_count: Count = 0
    """The number of restarts."""

    last_exit_code: Int32 | None = None
    """The exit code of the previous run."""

    restart_reason: Text = ""
    """The reason of the last restart, if the workload did not end by itself: a changed file, or a request."""

    next_restart_time: Moment = None
    """The time of the next restart."""

    observed_restart: Text = ""
    """The last completed restart request, by the value of its annotation."""

    sync: SyncStatus | None = None
    """The files that were copied into the container."""

    pull_progress: Text = ""
    """The progress of the image pull."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that the status refers to."""


class Container(
    Resource,
    group=GROUP,
    version=VERSION,
    scope="Cluster",
    short_names=["ctr"],
    categories=[CATEGORY],
    columns=[
        Column("State", ".status.state"),
        Column("Health", ".status.healthStatus"),
        Column("Restarts", ".status.restartCount"),
        Column("Image", ".spec.image"),
        Column("Ports", ".spec.ports[*].containerPort", priority=1),
        Column("Container", ".status.containerName", priority=1),
        Column("Exit", ".status.exitCode", priority=1),
        Column("Reason", '.status.conditions[?(@.type=="Ready")].reason', priority=1),
        AGE,
    ],
):
    """A container of Docker or Podman."""

    spec: Annotated[
        ContainerSpec,
        *LIFETIME_RULES,
        immutable("image", absent="''"),
        immutable("build"),
        immutable("containerName", absent="''"),
        Rule(
            rule="has(self.networks) == has(oldSelf.networks)",
            message="networks cannot be added to or removed from an existing Container, only its entries can change; "
            "delete the object and create it again",
            reason="FieldValueForbidden",
            field_path=".networks",
        ),
        immutable("labels", absent="[]"),
        immutable("healthProbes", absent="[]"),
        immutable("pullPolicy"),
        immutable("createFiles", absent="[]"),
        immutable("imageLayers", absent="[]"),
        immutable("pemCertificates"),
        immutable("terminal"),
    ]
    """The desired state."""

    status: ContainerStatus | None = None
    """The observed state."""
