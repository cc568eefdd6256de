"""The parts of services and tasks in an app file: ports, probes, restarts, builds and so on.

The structs are the long forms; `forms` converts the short forms.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

PortNumber: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
# A variable with the value null is taken from the environment of Setpoint.
EnvValue: TypeAlias = str | int | float | bool | None
Env: TypeAlias = dict[str, EnvValue]
Words: TypeAlias = str | tuple[str, ...]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the app file."""


class Port(Part, frozen=True, kw_only=True):
    """A port, in the long form."""

    port: PortNumber | None = None
    """The port that the program or the container listens on. By default, a process gets a free port as
    `${port.NAME}`."""

    host: PortNumber | None = None
    """The port on this machine. By default, a free port is chosen and remembered."""

    protocol: Literal["tcp", "udp"] = "tcp"
    """tcp or udp."""

    scheme: str = ""
    """The scheme of URLs. The default depends on the name and the number of the port."""

    address: str = ""
    """The address to listen on; localhost by default, 0.0.0.0 for all addresses."""

    proxy: bool | None = None
    """Lets Setpoint listen on the port and forward connections, so that the address stays the same over restarts. The
    default is yes, except for a process with a fixed port that does not use `${port.NAME}`."""


class Probe(Part, frozen=True, kw_only=True):
    """A probe of a service. Exactly one of http, tcp, exec, grpc and log must be set."""

    http: str = ""
    """A path or a URL to GET. A 2xx response is a success."""

    tcp: bool | str = ""
    """true, or `host:port`. A connection is a success."""

    exec: Words = ""
    """A command, which runs in the container, or next to the process. Exit code 0 is a success."""

    grpc: bool | str = ""
    """true, or the name of a service to check with the gRPC health service."""

    log: str = ""
    """A regular expression. A matching line of output is a success."""

    port: str = ""
    """The name of the port for http, tcp and grpc; required only if there are several."""

    headers: dict[str, str] = {}
    """Headers of an http probe."""

    every: str = "2s"
    """The interval between attempts. Until the first success, attempts are more frequent."""

    timeout: str = "5s"
    """The timeout of one attempt."""

    delay: str = ""
    """The delay between the start and the first attempt."""

    start_period: str = ""
    """The time after the start in which failures do not count. The first success ends this time."""

    start_interval: str = ""
    """The interval between attempts in the start period."""

    fail: Annotated[int, Meta(ge=1)] | None = None
    """The number of consecutive failures that count; by default 3 for `alive`, 1 for the others."""

    succeed: Annotated[int, Meta(ge=1)] | None = None
    """The number of consecutive successes that count; 1 by default."""


class Restart(Part, frozen=True, kw_only=True):
    """The restart policy of a service, in the long form."""

    on: Literal["failure", "always", "never", "unless-stopped"] = "failure"
    """failure: restart after an exit code other than 0. unless-stopped applies to containers."""

    max: Annotated[int, Meta(ge=1)] | None = None
    """The maximum number of consecutive restarts; unlimited by default. A manual restart, or a changed file, resets the
    number."""

    backoff: str = ""
    """The delay before a restart: `1s`, or `1s..30s` to double the delay from the first to the second value."""

    reset: str = ""
    """The running time after which the delay and the number of restarts are reset."""


class SyncExec(Part, frozen=True, kw_only=True):
    """A command that runs in the container after a sync."""

    exec: Words
    """The command. Exit code 0 is a success."""

    user: str = ""
    """The user of the command; by default the user of the container."""

    dir: str = ""
    """The working directory of the command; by default that of the container."""

    env: Env = {}
    """Additional environment variables of the command."""

    privileged: bool = False
    """Runs the command with full access to this machine."""

    def __post_init__(self) -> None:
        force_setattr(self, "env", texts(self.env))


class Sync(Part, frozen=True, kw_only=True):
    """Files that are copied into a running container when they change."""

    source: str = field(name="from")
    """The file or directory on this machine, relative to the app file."""

    target: str = field(name="to")
    """The path in the container of this file or directory."""

    ignore: tuple[str, ...] = ()
    """Files to ignore, as in .gitignore; in addition to those of the watch."""

    include: tuple[str, ...] = ()
    """Globs of the only files to copy; all files by default."""

    initial: bool = True
    """Copies all files before the container starts. If false, only later changes are copied."""

    then: Literal["restart"] | SyncExec | None = None
    """The action after a sync: restart, or a command in the container."""


class Watch(Part, frozen=True, kw_only=True):
    """Files that restart or rebuild a service when they change, or are copied into its container, in the long form. A
    service can have a list of these."""

    paths: tuple[str, ...] = ()
    """Files, directories and globs (`api/**/*.py`), relative to the app file."""

    ignore: tuple[str, ...] = ()
    """Globs of files to ignore."""

    include: tuple[str, ...] = ()
    """Globs of the only files below `paths` to consider; all files by default."""

    do: Literal["restart", "rebuild"] = "restart"
    """The action on a change of `paths`. rebuild requires `build`."""

    sync: tuple[Sync, ...] = ()
    """Files to copy into the running container, without a restart."""

    cascade: bool = False
    """Restarts dependent services as well."""

    debounce: str = ""
    """The time without further changes before the action; 200ms by default."""


class Stop(Part, frozen=True, kw_only=True):
    """The stop settings of a service."""

    signal: str = ""
    """The stop signal: TERM (the default), INT, QUIT and so on."""

    grace: str = ""
    """The grace period, after which the process and its children are killed."""


class Limit(Part, frozen=True, kw_only=True):
    """A limit of processes, in the long form."""

    soft: int
    """The soft limit; -1 is unlimited."""

    hard: int
    """The hard limit; -1 is unlimited."""


class BuildSecret(Part, frozen=True, kw_only=True):
    """A secret of a build. Exactly one of file and environment must be set."""

    id: str
    """The id of the secret in the Dockerfile."""

    file: str = ""
    """A file with the value, relative to the app file."""

    environment: str = ""
    """A variable of the environment."""


class Build(Part, frozen=True, kw_only=True):
    """The build settings of an image, in the long form."""

    context: str = "."
    """The build context: a directory relative to the app file."""

    dockerfile: str = ""
    """The Dockerfile, relative to the context; `Dockerfile` by default."""

    target: str = ""
    """The target stage."""

    args: Env = {}
    """The values of the Dockerfile's ARGs."""

    platform: str = ""
    """The target platform, such as linux/arm64."""

    tags: tuple[str, ...] = ()
    """Additional tags of the image."""

    dockerfile_inline: str = ""
    """The text of the Dockerfile, instead of a file."""

    cache_from: tuple[str, ...] = ()
    """Images with layers that the build may reuse."""

    extra_hosts: tuple[str, ...] = ()
    """Additional host names during the build, as `name:address`."""

    labels: dict[str, str] = {}
    """Labels of the image."""

    network: str = ""
    """The network during the build: host or none."""

    no_cache: bool = False
    """Builds all layers anew."""

    pull: bool = False
    """Pulls newer versions of the base images."""

    shm_size: str | int = ""
    """The size of /dev/shm during the build."""

    ulimits: dict[str, int | Limit] = {}
    """The limits of processes during the build."""

    secrets: tuple[BuildSecret, ...] = ()
    """Secrets that the build can read, and that are not stored in the image."""

    def __post_init__(self) -> None:
        force_setattr(self, "args", texts(self.args))


class Resources(Part, frozen=True, kw_only=True):
    """The resource limits of a container."""

    cpus: str | int | float = ""
    """The number of CPUs, such as 1.5."""

    memory: str | int = ""
    """The memory limit, such as 512Mi."""

    pids: Annotated[int, Meta(ge=1)] | None = None
    """The maximum number of processes and threads."""


class Terminal(Part, frozen=True, kw_only=True):
    """A pseudo-terminal, in the long form."""

    cols: Annotated[int, Meta(ge=1, le=32767)] = 80
    """The initial number of columns."""

    rows: Annotated[int, Meta(ge=1, le=32767)] = 24
    """The initial number of rows."""


class Logs(Part, frozen=True, kw_only=True):
    """The limits of the stored output."""

    max_bytes: Annotated[int, Meta(ge=4096)] | None = None
    """The maximum size of a log file."""

    max_files: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """The maximum number of log files."""


class Mount(Part, frozen=True, kw_only=True):
    """A directory or volume of a container, in the long form."""

    source: str = ""
    """The name of a volume, or a path on this machine that begins with `.`, `/` or `~`."""

    target: str
    """The path in the container."""

    read_only: bool = False
    """Makes the mount read-only."""

    type: Literal["", "bind", "volume", "tmpfs", "image"] = ""
    """bind (a path of this machine), volume, tmpfs (in memory) or image; by default bind or volume, by the source."""

    subpath: str = ""
    """The mounted directory in the volume or image."""

    nocopy: bool = False
    """Does not copy the files of the image into a new volume."""

    propagation: str = ""
    """The propagation of mounts below a path of this machine: rprivate, rshared or rslave."""

    create: bool = True
    """Creates a missing directory of this machine."""

    selinux: Literal["", "z", "Z"] = ""
    """Labels the files for SELinux: z for several containers, Z for this one."""

    size: str | int = ""
    """The size of a tmpfs."""

    mode: str = ""
    """The permissions of a tmpfs, as an octal number."""

    consistency: str = ""
    """The consistency of a mount on macOS."""


def texts(env: Mapping[str, EnvValue]) -> dict[str, EnvValue]:
    """Converts the values of variables to strings."""
    return {name: None if value is None else _text(value) for name, value in env.items()}


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
