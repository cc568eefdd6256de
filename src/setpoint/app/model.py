"""What an app file says, as one tree of structs. The reader, the JSON schema and the Python form are made from them.

Fields that have a short form keep it as it was written; `forms` gives all of them in one form. The names are those of
Compose where Compose has the thing and the meaning is the same.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta
from msgspec.structs import force_setattr

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
        force_setattr(self, "env", texts(self.env))


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
        force_setattr(self, "env", texts(self.env))
