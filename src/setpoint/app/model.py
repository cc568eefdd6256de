"""What an app file says, as one tree of structs. The reader, the JSON schema and the Python form are made from them.

Fields that have a short form keep it as it was written; `forms` gives all of them in one form. The names are those of
Compose where Compose has the thing and the meaning is the same.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

PortNumber: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
# A variable whose value is null has that of the environment in which the app is started.
EnvValue: TypeAlias = str | int | float | bool | None
Env: TypeAlias = dict[str, EnvValue]
Words: TypeAlias = str | tuple[str, ...]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the file."""


class Port(Part, frozen=True, kw_only=True):
    """A port, in its long form."""

    port: PortNumber | None = None
    """The port that the program or the container listens on; a process gets a free one, as `${port.NAME}`, when it is
    absent."""

    host: PortNumber | None = None
    """The port of this machine at which it is reached. One is chosen, and remembered, when it is absent."""

    protocol: Literal["tcp", "udp"] = "tcp"
    """tcp or udp."""

    scheme: str = ""
    """What its URLs begin with. By default that follows from the name and the number of the port."""

    address: str = ""
    """The address of this machine to listen on; localhost by default, 0.0.0.0 is every one."""

    proxy: bool | None = None
    """Whether Setpoint listens on the port and passes connections on, so that the address stays over restarts. By
    default it does, except where a process listens on a number of its own without asking for `${port.NAME}`."""


class Probe(Part, frozen=True, kw_only=True):
    """A way to find out how a service is. One of http, tcp, exec, grpc and log says what is asked."""

    http: str = ""
    """A path, or a whole URL, to GET. An answer 2xx is good."""

    tcp: bool | str = ""
    """true, or `host:port`: that a connection can be made is good."""

    exec: Words = ""
    """A command: in the container of an image, beside a process otherwise. Exit code 0 is good."""

    grpc: bool | str = ""
    """true, or the name of a service to ask the gRPC health service about."""

    log: str = ""
    """A regular expression. That a line like it was written is good."""

    port: str = ""
    """The name of the port that http, tcp and grpc are for; not needed where there is one."""

    headers: dict[str, str] = {}
    """Headers that an http probe sends."""

    every: str = "2s"
    """The time from one try to the next."""

    timeout: str = "5s"
    """How long one try may take."""

    delay: str = ""
    """How long to wait after the start before the first try."""

    fail: Annotated[int, Meta(ge=1)] | None = None
    """How many failures in a row it takes: 3 for `alive`, 1 for the others by default."""

    succeed: Annotated[int, Meta(ge=1)] | None = None
    """How many successes in a row it takes; 1 by default."""


class Restart(Part, frozen=True, kw_only=True):
    """When a service is started again, in the long form."""

    on: Literal["failure", "always", "never", "unless-stopped"] = "failure"
    """failure: when its exit code is not 0. unless-stopped is for containers."""

    max: Annotated[int, Meta(ge=1)] | None = None
    """How often in a row, before it is left as it is; for ever by default. A restart that you ask for, or a file that
    changed, begins a new row."""

    backoff: str = ""
    """How long to wait before: `1s`, or `1s..30s` to double the wait from the first to the second."""

    reset: str = ""
    """After running this long the wait is the first again, and a new row of restarts begins."""


class Watch(Part, frozen=True, kw_only=True):
    """Files whose change restarts a service, in the long form."""

    paths: Annotated[tuple[str, ...], Meta(min_length=1)]
    """Files, directories and globs (`api/**/*.py`), relative to the app file."""

    ignore: tuple[str, ...] = ()
    """Globs of what does not count."""

    do: Literal["restart", "rebuild"] = "restart"
    """What a change leads to. rebuild is for services with `build`."""

    cascade: bool = False
    """Whether the services that come after this one are restarted as well."""

    debounce: str = ""
    """How long no further change must come before it counts; 200ms by default."""


class Stop(Part, frozen=True, kw_only=True):
    """How a service is stopped."""

    signal: str = ""
    """The signal that asks it to end: TERM (the default), INT, QUIT and so on."""

    grace: str = ""
    """How long it has to end before it is killed, with everything it started."""


class Build(Part, frozen=True, kw_only=True):
    """How an image is built, in the long form."""

    context: str = "."
    """The directory that is built, relative to the app file."""

    dockerfile: str = ""
    """The Dockerfile, relative to the context; `Dockerfile` by default."""

    target: str = ""
    """The stage at which to stop."""

    args: Env = {}
    """Values of the ARGs of the Dockerfile."""

    platform: str = ""
    """The platform to build for, such as linux/arm64."""

    tags: tuple[str, ...] = ()
    """Further names of the image."""

    def __post_init__(self) -> None:
        force_setattr(self, "args", _texts(self.args))


class Resources(Part, frozen=True, kw_only=True):
    """What a container may use."""

    cpus: str | int | float = ""
    """Processors, such as 1.5."""

    memory: str | int = ""
    """Memory, such as 512Mi."""

    pids: Annotated[int, Meta(ge=1)] | None = None
    """Processes and threads."""


class Terminal(Part, frozen=True, kw_only=True):
    """A pseudo-terminal, in the long form."""

    cols: Annotated[int, Meta(ge=1, le=32767)] = 80
    """Columns at the start."""

    rows: Annotated[int, Meta(ge=1, le=32767)] = 24
    """Rows at the start."""


class Logs(Part, frozen=True, kw_only=True):
    """How much of the output is kept."""

    max_bytes: Annotated[int, Meta(ge=4096)] | None = None
    """The size at which a new file is begun."""

    max_files: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How many files are kept."""


class Mount(Part, frozen=True, kw_only=True):
    """A directory or volume that a container sees, in the long form."""

    source: str = ""
    """The name of a volume, or a path of this machine that begins with `.`, `/` or `~`."""

    target: str
    """The path in the container."""

    read_only: bool = False
    """Whether the container may only read it."""


class Workload(Part, frozen=True, kw_only=True):
    """What services and tasks have in common: a process (`run`), or a container (`image`, `build`)."""

    run: Words = ""
    """The command of a process. A text is split as a shell would, and runs without one unless it needs one; a list is
    taken as it is."""

    image: str = ""
    """The image of a container."""

    build: str | Build = ""
    """The directory of a container's Dockerfile, or how to build it."""

    dir: str = ""
    """The directory it starts in: relative to the app file, or in the container."""

    args: Words = ()
    """Further arguments: behind those of `run`, or instead of the image's own."""

    entrypoint: str = ""
    """The program of a container, instead of the image's own."""

    env: Env = {}
    """Environment variables, over those of the app."""

    env_file: Words = ()
    """Files of environment variables for it; `env` wins."""

    inherit_env: bool = True
    """Whether a process gets the environment that Setpoint was started in."""

    after: str | tuple[str, ...] | dict[str, str] = ()
    """What must be before it starts: names (which must be ready, or done where they are tasks), or names with how far
    they must be: started, ready, done, finished (with whatever exit code) or `log:regex`."""

    stop: Stop | None = None
    """How it is stopped."""

    stdin: bool = False
    """Whether its standard input stays open, to attach to."""

    terminal: bool | Terminal = False
    """Whether it runs in a pseudo-terminal."""

    volumes: tuple[str | Mount, ...] = ()
    """What a container sees: `name:/path`, `./directory:/path`, with `:ro` where it may only read."""

    networks: tuple[str, ...] = ()
    """The networks of a container; that of the app by default."""

    resources: Resources | None = None
    """What a container may use."""

    user: str = ""
    """The user a container runs as."""

    pull: Literal["always", "missing", "never"] | None = None
    """When to pull the image; missing by default."""

    privileged: bool = False
    """Whether a container may do everything on this machine."""

    cap_add: tuple[str, ...] = ()
    """Linux capabilities a container gets."""

    cap_drop: tuple[str, ...] = ()
    """Linux capabilities a container does not get."""

    tmpfs: Words = ()
    """Paths in a container that are kept in memory."""

    extra_hosts: tuple[str, ...] = ()
    """Names a container can resolve, as `name:address`."""

    devices: tuple[str, ...] = ()
    """Devices of this machine a container can use."""

    labels: dict[str, str] = {}
    """Labels that the container engine keeps."""

    logs: Logs | None = None
    """How much of its output is kept."""

    profiles: tuple[str, ...] = ()
    """It is there only with one of these profiles."""

    def __post_init__(self) -> None:
        force_setattr(self, "env", _texts(self.env))


class Service(Workload, frozen=True, kw_only=True):
    """Something that runs for as long as the app does."""

    ports: dict[str, PortNumber | str | Port] = {}
    """The ports by name. `auto`: a process gets a free one as `${port.NAME}`. A number: what the program or the
    container listens on. `8080:80`: the port of this machine, and that of the program or container."""

    replicas: Annotated[int, Meta(ge=0, le=10000)] | None = None
    """How many processes there are, behind one address."""

    ready: str | Probe | None = None
    """How to tell that it can be used. Short: a path, `tcp`, `grpc`, `log:regex` or `exec:command`."""

    alive: str | Probe | None = None
    """How to tell that it has to be restarted."""

    started: str | Probe | None = None
    """How to tell that it has started; the other probes wait for it."""

    restart: bool | str | Restart = False
    """Whether it is started again when it ends: no (the default), on-failure, always, or the long form."""

    watch: Words | Watch | None = None
    """Files whose change restarts it."""

    keep: bool = False
    """Whether it outlives the session, and is found again by the next."""


class Task(Workload, frozen=True, kw_only=True):
    """Something that runs to its end."""

    auto: bool | None = None
    """Whether it runs with the app. By default it does if it has a schedule, or something comes after it; otherwise
    `setpoint run NAME` runs it."""

    schedule: str = ""
    """When it runs: as cron writes it, or @hourly, @daily, `@every 10m`."""

    time_zone: str = ""
    """The time zone of the schedule; UTC by default."""

    overlap: Literal["allow", "forbid", "replace"] = "forbid"
    """What to do when a run is due while another is under way."""

    retries: Annotated[int, Meta(ge=0)] = 0
    """How often a run that failed is tried again."""

    timeout: str = ""
    """How long a run may take, with its retries."""


class Controller(Part, frozen=True, kw_only=True):
    """A program of controllers that runs with the app, in the long form."""

    module: str
    """A file of Python, relative to the app file, or the name of a module."""

    name: str = ""
    """Which of the controllers in it; all of them by default."""


class Secret(Part, frozen=True, kw_only=True):
    """Where a secret comes from. One of the two must be given."""

    environment: str = ""
    """A variable of the environment, or of the files in `env_file`."""

    file: str = ""
    """A file that holds it, relative to the app file."""


class Volume(Part, frozen=True, kw_only=True):
    """A volume of the container engine."""

    name: str = ""
    """Its name in the engine; by default the app's name and its own."""

    keep: bool = True
    """Whether it outlives the session."""

    driver: str = ""
    """The engine's driver."""

    driver_opts: dict[str, str] = {}
    """Options of the driver."""


class Network(Part, frozen=True, kw_only=True):
    """A network of containers."""

    name: str = ""
    """Its name in the engine."""

    external: bool = False
    """Whether it is somebody else's, used and left."""

    driver: str = ""
    """The engine's driver."""

    subnet: str = ""
    """The addresses it hands out."""

    internal: bool = False
    """Whether it is cut off from the outside."""

    ipv6: bool = False
    """Whether it has IPv6 addresses, too."""


# What a profile does with a service or task: takes it out, brings it in, or changes some of its fields.
Choice: TypeAlias = bool | dict[str, Any]


class AppFile(Part, frozen=True, kw_only=True):
    """An app: its services and tasks, its controllers and their objects."""

    app: str = ""
    """The name of the app; that of the directory by default."""

    env: Env = {}
    """Environment variables of all services and tasks."""

    env_file: Words | None = None
    """Files in which `${env.NAME}` and `${secret.NAME}` are looked up where the environment has no such variable;
    `.env` by default. Nothing in them is given to a service by itself."""

    include: tuple[str, ...] = ()
    """Other app files, whose services, tasks and so on are part of this one. Their paths are relative to them."""

    services: dict[str, Service] = {}
    """What runs for as long as the app does."""

    tasks: dict[str, Task] = {}
    """What runs to its end: migrations, tests, jobs by schedule."""

    secrets: dict[str, Secret] = {}
    """Where the values of `${secret.NAME}` come from, if not from the variable of that name in capitals."""

    volumes: dict[str, Volume | None] = {}
    """The volumes that containers name."""

    networks: dict[str, Network | None] = {}
    """The networks that containers name. Without any, all containers are in one of the app's own."""

    controllers: tuple[str | Controller, ...] = ()
    """Controllers of your own, in Python, that run with the app."""

    crds: tuple[str, ...] = ()
    """Files (globs) of CustomResourceDefinitions, applied first."""

    objects: tuple[str, ...] = ()
    """Files (globs) of other objects, applied last."""

    profiles: dict[str, dict[str, Choice]] = {}
    """Variants of the app by name: for a service or task `off`, `on`, or fields that replace its own."""

    def __post_init__(self) -> None:
        force_setattr(self, "env", _texts(self.env))


def _texts(env: Mapping[str, EnvValue]) -> dict[str, EnvValue]:
    """Variables are texts, however they were given."""
    return {name: None if value is None else _text(value) for name, value in env.items()}


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
