"""The model of an app file, as structs. The reader, the JSON schema and the Python builder are based on these structs.

Short forms are kept as written; `forms` converts them. Settings that Compose also has have Compose's names, if the
meaning is the same.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta
from msgspec.structs import force_setattr

from setpoint.app.container_fields import After, Attachment, ContainerFields
from setpoint.app.parts import (
    Build,
    Env,
    Logs,
    Mount,
    Part,
    Port,
    PortNumber,
    Probe,
    Resources,
    Restart,
    Stop,
    Terminal,
    Watch,
    Words,
    texts,
)


class Workload(ContainerFields, frozen=True, kw_only=True):
    """The common fields of services and tasks: a process (`run`), or a container (`image`, `build`)."""

    run: Words = ""
    """The command of a process. A text is split like a shell command, and runs without a shell unless the command needs
    one; a list is used as is."""

    image: str = ""
    """The image of a container."""

    build: str | Build = ""
    """The directory of a container's Dockerfile, or the build settings."""

    dir: str = ""
    """The working directory: relative to the app file, or in the container."""

    args: Words = ()
    """Additional arguments: after those of `run`, or instead of the image's default arguments."""

    entrypoint: Words | None = None
    """The program of a container, instead of the image's entrypoint; empty for none."""

    env: Env = {}
    """Environment variables, which override those of the app."""

    env_file: Words = ()
    """Files with environment variables; `env` takes precedence."""

    inherit_env: bool = True
    """Lets a process inherit the environment of Setpoint."""

    after: str | tuple[str, ...] | dict[str, str | After] = ()
    """The services and tasks to wait for before the start: names (services must be ready, tasks done), or names with
    conditions: started, ready, done, finished (with any exit code) or `log:regex`."""

    stop: Stop | None = None
    """The signal and the grace period of a stop."""

    stdin: bool = False
    """Keeps standard input open, for attaching."""

    terminal: bool | Terminal = False
    """Runs the process in a pseudo-terminal."""

    volumes: tuple[str | Mount, ...] = ()
    """The mounts of a container: `name:/path` or `./directory:/path`, with `:ro` for read-only."""

    networks: tuple[str, ...] | dict[str, Attachment | None] = ()
    """The networks of a container, as names, or as names with settings; by default the network of the app."""

    resources: Resources | None = None
    """The resource limits of a container."""

    user: str = ""
    """The user of a container."""

    pull: Literal["always", "missing", "never"] | None = None
    """The pull policy of the image; missing by default."""

    privileged: bool = False
    """Gives a container full access to this machine."""

    cap_add: tuple[str, ...] = ()
    """Linux capabilities to add to a container."""

    cap_drop: tuple[str, ...] = ()
    """Linux capabilities to remove from a container."""

    tmpfs: Words = ()
    """Paths in a container that are kept in memory."""

    extra_hosts: tuple[str, ...] = ()
    """Additional host names of a container, as `name:address`."""

    devices: tuple[str, ...] = ()
    """Devices of this machine that a container can use."""

    labels: dict[str, str] = {}
    """Labels of the container in the container engine."""

    logs: Logs | None = None
    """The limits of the stored output."""

    groups: tuple[str, ...] = ()
    """The groups of this service or task, for the option --group of the commands."""

    profiles: tuple[str, ...] = ()
    """The profiles that include this service or task; always included by default."""

    def __post_init__(self) -> None:
        force_setattr(self, "env", texts(self.env))


class Service(Workload, frozen=True, kw_only=True):
    """A workload that runs as long as the app."""

    ports: dict[str, PortNumber | str | Port] = {}
    """The ports by name. `auto`: a process gets a free port as `${port.NAME}`. A number: the port that the program or
    container listens on. `8080:80`: the port of this machine, and the port of the program or container."""

    replicas: Annotated[int, Meta(ge=0, le=10000)] | None = None
    """The number of processes or containers behind one address."""

    ready: str | Probe | None = None
    """The readiness probe. Short forms: a path, `tcp`, `grpc`, `log:regex` or `exec:command`."""

    alive: str | Probe | None = None
    """The liveness probe, which restarts the service on failure."""

    started: str | Probe | None = None
    """The startup probe; the other probes wait for its success."""

    restart: bool | str | Restart = False
    """The restart policy: no (the default), on-failure, always, or the long form."""

    watch: str | Watch | tuple[str | Watch, ...] | None = None
    """Files to watch; a change restarts or rebuilds the service, or is copied into its container."""

    keep: bool = False
    """Keeps the service running after the session, for the next session to use."""


class Task(Workload, frozen=True, kw_only=True):
    """A workload that runs to completion."""

    auto: bool | None = None
    """Runs the task with the app. The default is yes if the task has a schedule, or another service or task depends on
    this one; otherwise `setpoint run NAME` runs the task."""

    schedule: str = ""
    """The schedule: a cron expression, or @hourly, @daily, `@every 10m`."""

    time_zone: str = ""
    """The time zone of the schedule; UTC by default."""

    overlap: Literal["allow", "forbid", "replace"] = "forbid"
    """The policy for a run that is due while another one is running."""

    retries: Annotated[int, Meta(ge=0)] = 0
    """The number of retries of a failed run."""

    timeout: str = ""
    """The time limit of a run, including its retries."""


class Controller(Part, frozen=True, kw_only=True):
    """A program with controllers that runs with the app, in the long form."""

    module: str
    """A Python file, relative to the app file, or the name of a module."""

    name: str = ""
    """The controller to run; all controllers of the module by default."""


class Secret(Part, frozen=True, kw_only=True):
    """The source of a secret. Exactly one of the fields must be set."""

    environment: str = ""
    """A variable of the environment, or of the files in `env_file`."""

    file: str = ""
    """A file with the value, relative to the app file."""


class Volume(Part, frozen=True, kw_only=True):
    """A volume of the container engine."""

    name: str = ""
    """The name in the container engine; by default the names of the app and the volume."""

    keep: bool = True
    """Keeps the volume after the session."""

    external: bool = False
    """Uses an existing volume, which is neither created nor removed."""

    labels: dict[str, str] = {}
    """Labels of the volume in the container engine."""

    driver: str = ""
    """The volume driver of the container engine."""

    driver_opts: dict[str, str] = {}
    """Options of the driver."""


class Pool(Part, frozen=True, kw_only=True):
    """An address range of a network."""

    subnet: str = ""
    """The address range, such as 10.1.0.0/24."""

    gateway: str = ""
    """The address of this machine in the range."""

    ip_range: str = ""
    """The part of the range from which addresses are chosen."""

    aux_addresses: dict[str, str] = {}
    """Addresses in use outside of the container engine, by host name."""


class Ipam(Part, frozen=True, kw_only=True):
    """The assignment of addresses in a network."""

    driver: str = ""
    """The driver that assigns addresses."""

    options: dict[str, str] = {}
    """Options of the driver."""

    config: tuple[Pool, ...] = ()
    """The address ranges."""


class Network(Part, frozen=True, kw_only=True):
    """A network of containers."""

    name: str = ""
    """The name in the container engine."""

    external: bool = False
    """Uses an existing network, which is not deleted with the app."""

    driver: str = ""
    """The network driver of the container engine."""

    subnet: str = ""
    """The address range of the network."""

    internal: bool = False
    """Isolates the network from the outside."""

    ipv6: bool = False
    """Adds IPv6 addresses to the network."""

    attachable: bool = False
    """Lets containers of other programs join the network."""

    driver_opts: dict[str, str] = {}
    """Options of the driver."""

    labels: dict[str, str] = {}
    """Labels of the network in the container engine."""

    ipam: Ipam | None = None
    """The assignment of addresses."""


# The effect of a profile on a service or task: off, on, or changed fields.
Choice: TypeAlias = bool | dict[str, Any]


class AppFile(Part, frozen=True, kw_only=True):
    """An app: its services and tasks, its controllers and their objects."""

    app: str = ""
    """The name of the app; by default the name of the directory."""

    env: Env = {}
    """Environment variables of all services and tasks."""

    env_file: Words | None = None
    """Files that supply the values of `${env.NAME}` and `${secret.NAME}` that are not in the environment; `.env` by
    default. Services do not get these variables automatically."""

    include: tuple[str, ...] = ()
    """Other app files to include. Their paths are relative to each file."""

    services: dict[str, Service] = {}
    """The services, which run as long as the app."""

    tasks: dict[str, Task] = {}
    """The tasks, which run to completion: migrations, tests, scheduled jobs."""

    secrets: dict[str, Secret] = {}
    """The sources of `${secret.NAME}`; by default the environment variable with that name in capitals."""

    volumes: dict[str, Volume | None] = {}
    """The volumes of containers."""

    networks: dict[str, Network | None] = {}
    """The networks of containers. By default, all containers share one network of the app."""

    controllers: tuple[str | Controller, ...] = ()
    """Your own controllers in Python, which run with the app."""

    crds: tuple[str, ...] = ()
    """Files (globs) with CustomResourceDefinitions, applied first."""

    objects: tuple[str, ...] = ()
    """Files (globs) with other objects, applied last."""

    profiles: dict[str, dict[str, Choice]] = {}
    """Variants of the app by name: for a service or task `off`, `on`, or fields that replace its own."""

    def __post_init__(self) -> None:
        force_setattr(self, "env", texts(self.env))
