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
    Model,
    NoDefault,
    Pattern,
    Quantity,
    Resource,
    Rule,
    rule,
)
from setpoint.workload.kinds.api_names import CATEGORY, GROUP, VERSION
from setpoint.workload.kinds.files import ContainerPemCertificates, CreateFileSystem, ImageLayer
from setpoint.workload.kinds.health import HealthProbeResults, HealthProbes
from setpoint.workload.kinds.image import ContainerBuild
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
    message="source is required for a bind mount: it is the directory or file of this machine",
    reason="FieldValueRequired",
    field_path=".source",
)
class VolumeMount(Model):
    """A directory or volume that the container sees."""

    type: Literal["bind", "volume"]
    """bind: a directory or file of this machine. volume: a volume of the engine."""

    source: Text = ""
    """The path on this machine, or the name of the volume; a volume without a name is the container's own."""

    target: Annotated[str, MinLength(1)]
    """The path in the container."""

    read_only: Flag = False
    """Whether the container may only read it."""


class ContainerPort(Model):
    """A port of the container that this machine can reach."""

    host_port: PortOrAny = 0
    """The port on this machine; the engine chooses one when it is absent."""

    container_port: PortNumber
    """The port in the container."""

    protocol: Protocol = "TCP"
    """TCP or UDP."""

    host_ip: Text = msgspec.field(name="hostIP", default="")
    """The address on this machine, 127.0.0.1 when absent."""


class NetworkAttachment(Model):
    """A network that the container is connected to."""

    name: Name
    """The name of the ContainerNetwork object."""

    aliases: list[str] = []
    """Names of the container in that network."""


class Resources(Model):
    """What the container may use."""

    cpus: Quantity | None = None
    """Processors, `1.5` or `500m`."""

    memory: Quantity | None = None
    """Memory, `512Mi`."""

    pids: Annotated[Int64, Minimum(1)] | None = None
    """Processes and threads."""


class Ulimit(Model):
    """A limit of the processes in the container."""

    name: Annotated[str, MinLength(1)]
    """Which limit, such as nofile."""

    soft: Annotated[Int64, Minimum(-1)]
    """The limit that applies; -1 is none."""

    hard: Annotated[Int64, Minimum(-1)] | None = None
    """How far it can be raised; as `soft` when absent."""


class HealthCheck(Model):
    """A health check that the engine runs in the container, instead of the image's own."""

    command: list[str] = []
    """The program and its arguments. Empty takes the image's own off."""

    interval: Span | None = None
    """The time between runs."""

    timeout: Span | None = None
    """How long one run may take."""

    start_period: Span | None = None
    """How long failures do not count after the start."""

    retries: Annotated[Int32, Minimum(1)] | None = None
    """How many failures in a row it takes."""


@rule(
    f"!({EFFECTIVE_MODE} in ['session', 'persistent']) || has(self.build) || self.?image.orValue('') != ''",
    message="image must be set, or build: there is nothing to run otherwise",
    reason="FieldValueRequired",
    field_path=".image",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || self.?containerName.orValue('') != ''",
    message="containerName must be set in every mode but session: it is how the container is found again",
    reason="FieldValueRequired",
    field_path=".containerName",
)
@rule(
    f"{EFFECTIVE_MODE} == 'session' || !has(self.terminal)",
    message="terminal is for mode session",
    reason="FieldValueForbidden",
    field_path=".terminal",
)
class ContainerSpec(Lifetime):
    """What a Container should be."""

    image: Annotated[str, NoDefault(), Pattern(r"^[^\s\x00-\x1f]*$")] = ""
    """The image; the name it gets when it is built."""

    build: ContainerBuild | None = None
    """How to build the image."""

    container_name: Annotated[str, NoDefault(), Pattern("^([a-zA-Z0-9][a-zA-Z0-9_.-]+)?$")] = ""
    """The name in the engine; made from the object's name when empty."""

    volume_mounts: list[VolumeMount] = []
    """Directories and volumes that it sees."""

    ports: list[ContainerPort] = []
    """Ports that this machine can reach."""

    env: EnvVars = []
    """Environment variables. Values may be templates."""

    env_files: list[str] = []
    """Files of environment variables (dotenv); later files win, `env` wins over all."""

    restart_policy: Literal["no", "on-failure", "unless-stopped", "always"] | None = None
    """Whether the engine starts it again when it ends."""

    restart_backoff: RestartBackoff | None = None
    """How long to wait before it is started again; with it we do so, not the engine."""

    command: Text = ""
    """The entry point, instead of the image's."""

    args: list[str] = []
    """Arguments of the entry point. Each may be a template."""

    networks: list[NetworkAttachment] | None = None
    """The networks it is connected to. Absent: the engine's default network, unmanaged; a list (that may be empty) is
    kept, and may change while it runs."""

    run_args: list[str] = []
    """Further arguments, as the engine's command line takes them."""

    labels: list[Label] = []
    """Labels that the engine keeps with it."""

    health_probes: HealthProbes = []
    """How to find out whether it is well."""

    pull_policy: Literal["always", "missing", "never"] | None = None
    """When to pull the image; missing when absent."""

    pull_retry_limit: Annotated[Int32, Minimum(0)] | None = None
    """How often to try again to pull the image."""

    create_files: Annotated[list[CreateFileSystem], MaxItems(64)] = []
    """Files to write into it before it starts."""

    image_layers: list[ImageLayer] = []
    """Layers to put on top of the image."""

    pem_certificates: ContainerPemCertificates | None = None
    """Certificates to write into it."""

    terminal: TerminalSpec | None = None
    """A pseudo-terminal to run in."""

    resources: Resources | None = None
    """What it may use."""

    user: Text = ""
    """The user its processes run as: a name or a number, with `:group` where wanted."""

    working_directory: Text = ""
    """The directory in it where the entry point starts."""

    cap_add: list[str] = []
    """Linux capabilities it gets."""

    cap_drop: list[str] = []
    """Linux capabilities it does not get."""

    privileged: Flag = False
    """Whether it may do everything on this machine."""

    tmpfs: list[str] = []
    """Paths in it that are kept in memory, with `:options` where wanted."""

    ulimits: Annotated[list[Ulimit], ListMap("name")] = []
    """Limits of its processes."""

    extra_hosts: list[str] = []
    """Names it can resolve, as `name:address`; the address host-gateway is this machine."""

    devices: list[str] = []
    """Devices of this machine it can use, as `host[:container[:permissions]]`."""

    healthcheck: HealthCheck | None = None
    """A health check that the engine runs, instead of the image's own."""

    stop_signal: Annotated[str, NoDefault(), Pattern(r"^(SIG[A-Z0-9+]{1,12})?$")] = ""
    """The signal that asks it to end; the image's own when empty, SIGTERM when that says nothing."""

    stop_timeout: Span = Duration(seconds=10)
    """How long it has to end before it is killed."""

    depends_on: Dependencies = []
    """What must have started, be ready or have ended before it starts."""

    watch: FileWatch | None = None
    """Files whose change restarts it, or builds it anew."""

    serves: Serves = []
    """The Services that it serves; each must say the port."""

    logs: LogLimits | None = None
    """How much of its output is kept."""


class ContainerStatus(Model):
    """What a Container is."""

    state: Annotated[ContainerState, NoDefault()] = ""
    """Where it is in its life."""

    container_id: Text = ""
    """Its id in the engine."""

    container_name: Text = ""
    """Its name in the engine."""

    startup_timestamp: Moment = None
    """When it was started, or that was tried."""

    finish_timestamp: Moment = None
    """When it ended."""

    startup_std_out_file: Text = ""
    """The file with the output of building, pulling, creating and starting it."""

    startup_std_err_file: Text = ""
    """The file with the errors of the same."""

    terminal_socket_path: Text = ""
    """The socket of its terminal."""

    exit_code: Int32 | None = None
    """Its exit code; absent when it is not known."""

    message: Text = ""
    """What went wrong, for people."""

    effective_env: list[EnvVar] = []
    """Its environment, with all templates filled in; what came from secrets is masked."""

    effective_args: list[str] = []
    """Its arguments, with all templates filled in; what came from secrets is masked."""

    networks: list[str] = []
    """The ContainerNetwork objects it is connected to."""

    health_status: HealthStatus | None = None
    """Whether it is well."""

    health_probe_results: HealthProbeResults = []
    """What came of each probe the last time."""

    lifecycle_key: Text = ""
    """The key it was made with."""

    conditions: Conditions = []
    """Started and Ready, with reasons and remedies."""

    restart_count: Count = 0
    """How often it was started again."""

    last_exit_code: Int32 | None = None
    """The exit code of the life before this one."""

    restart_reason: Text = ""
    """Why it was last started again, where that was not for its end: a file changed, somebody asked for it."""

    next_restart_time: Moment = None
    """When it will be started again."""

    observed_restart: Text = ""
    """The last request for a restart, by its annotation, that was obeyed."""

    pull_progress: Text = ""
    """How far the pull of the image is."""

    observed_generation: Annotated[Int64, NoDefault()] = 0
    """The generation of the object that this was said of."""


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
            message="networks cannot be added to or taken from a Container that exists, only its entries can change; "
            "delete the object and create it anew",
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
    """What it should be."""

    status: ContainerStatus | None = None
    """What it is."""
