"""The parts that the services and tasks of an app file are made of: ports, probes, restarts, builds and so on.

What may have a short form is here in its long one; `forms` gives the one for the other.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

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
    """The time from one try to the next. Until the first success it is tried sooner."""

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
        force_setattr(self, "args", texts(self.args))


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


def texts(env: Mapping[str, EnvValue]) -> dict[str, EnvValue]:
    """Variables are texts, however they were given."""
    return {name: None if value is None else _text(value) for name, value in env.items()}


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
