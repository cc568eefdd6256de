"""Scripts of simulated nodes: Python functions that decide on the behaviour of the containers of pods.

A script gets the current run of a container, and returns its behaviour, or None for the behaviour without a script:

    def crash_twice(run: ContainerRun) -> Behaviour | None:
        return Behaviour(exit_code=1, after=5) if run.restarts < 2 else None

    async with testing.world(nodes=testing.simulated(scripts={"app=web": crash_twice})) as world: ...

A script is called for every step of a pod, so that its result must depend only on the run, and on state that the test
changes. A container with a probe is examined again after every period of the probe.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from setpoint.node.ports import PortReply, PortRequest
from setpoint.node.streams import Streams
from setpoint.objects.labels import Selector
from setpoint.objects.tree import Object


class ContainerRun(NamedTuple):
    """A run of a container: the pod, the name of the container, and the number of earlier runs."""

    pod: Object
    container: str
    restarts: int


class LogLine(NamedTuple):
    """A line in the log of a container: the seconds since the start of the run, and the text without a line break."""

    after: float
    text: str
    stderr: bool = False


class ExecResult(NamedTuple):
    """The output and the exit code of a command."""

    stdout: str | bytes = b""
    stderr: str | bytes = b""
    exit_code: int = 0


class ExecCall(NamedTuple):
    """A command that a client runs in a container."""

    run: ContainerRun
    command: Sequence[str]
    # The whole input of the client, for a plain function; empty for a client without input, or with a terminal.
    stdin: bytes
    tty: bool
    # The streams of the client, for an `async def` function that answers while it reads.
    streams: Streams


ExecScript: TypeAlias = Callable[[ExecCall], ExecResult | Awaitable[ExecResult]]


class PortCall(NamedTuple):
    """A request of a client to a port of a container."""

    run: ContainerRun
    port: int
    request: PortRequest


PortScript: TypeAlias = Callable[[PortCall], PortReply | Awaitable[PortReply]]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of one run of a container. All times are seconds since the start of the run."""

    # The exit code, and the time of the end; None for a container that runs until the end of its pod.
    exit_code: int | None = None
    after: float = 0.0
    # The reason of the end, by default Completed or Error, such as OOMKilled; and the termination message.
    reason: str = ""
    message: str = ""
    # The times at which the startup probe and the readiness probe succeed.
    started_after: float = 0.0
    ready_after: float = 0.0
    # False for a container whose readiness probe fails.
    ready: bool = True
    # A message makes the pull of the image fail, and the container wait with ImagePullBackOff.
    pull_error: str = ""
    # The lines of the log, in order of time; each is a LogLine, or a pair of seconds and text.
    logs: Sequence[LogLine | tuple[float, str]] = ()
    # Answers commands that clients run in the container; None refuses them.
    exec: ExecScript | None = None
    # Answers HTTP requests of clients, by the number of the port: port-forward, and the proxy of pods and services.
    ports: Mapping[int, PortScript] = field(default_factory=dict)
    # The used CPU in cores, and the used memory in bytes: constant, or a function of the seconds since the start.
    # None for the amounts of a container without a script.
    cpu: float | Callable[[float], float] | None = None
    memory: int | Callable[[float], int] | None = None
    # The seconds from the request to stop until the end, at most the grace period, and the exit code of this end.
    stop_after: float = 0.0
    stop_code: int = 143


Script = Callable[[ContainerRun], Behaviour | None]


class SelectedScript(NamedTuple):
    """A script, and the labels of its pods."""

    selector: Selector
    script: Script
