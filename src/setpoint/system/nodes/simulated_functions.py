"""The functions of simulated nodes: the logs, the commands and the usage of containers, as scripts give them."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from setpoint.cache.cache import Cache
from setpoint.client.kinds import kind_of
from setpoint.node.given_usage import given_usage
from setpoint.node.log_options import LogOptions
from setpoint.node.ports import PortReply, PortRequest
from setpoint.node.streams import Conversation, Streams
from setpoint.node.usage import NodeSample, PodSample, Usage
from setpoint.objects.clock import Clock
from setpoint.objects.tree import Object
from setpoint.system.node_scripts import ContainerRun
from setpoint.system.nodes.container_log import RunLog, check_length
from setpoint.system.nodes.container_status import started_at
from setpoint.system.nodes.pod_memory import RunTimes
from setpoint.system.nodes.run_observer import RunObservers
from setpoint.system.nodes.scripted_command import scripted_command
from setpoint.system.nodes.scripted_ports import ScriptedPorts
from setpoint.system.nodes.selected_run import running_run, selected_run
from setpoint.system.nodes.simulated_nodes import SimulatedNodes
from setpoint.system.pods.state import POD

# metrics-server reads the nodes as often.
WINDOW_SECONDS = 15.0
# The usage of a container without a script: KWOK's annotations of its pod, or KWOK's amounts without them.
LEAST_USAGE = Usage(0.001, 1 << 20)
_STATUSES = ("initContainerStatuses", "containerStatuses")

N = TypeVar("N", int, float)


class SimulatedFunctions:
    """The agent of all simulated nodes of a plane."""

    def __init__(self, nodes: SimulatedNodes, cache: Cache, clock: Clock) -> None:
        self._nodes = nodes
        self._cache = cache
        self._clock = clock
        self._pod = kind_of(POD)
        self.observers = RunObservers(nodes, cache)
        self._ports = ScriptedPorts(nodes)

    def has(self, node: str) -> bool:
        return self._nodes.has(node)

    # The logs

    async def logs(self, pod: Object, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        run = selected_run(pod, container, previous=options.previous)
        check_length(self._nodes.run_of(pod, container, run).behaviour)
        if options.follow:
            self.observers.check_room()
        return self._log(pod, container, run, options)

    async def _log(self, pod: Object, container: str, run: RunTimes, options: LogOptions) -> AsyncIterator[bytes]:
        with self.observers.observing(pod, container, run) as observer:
            async for piece in RunLog(observer, options, self._clock).read():
                yield piece

    # The processes

    async def exec(
        self, pod: Object, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Conversation:
        run = running_run(pod, container)
        behaviour = self._nodes.run_of(pod, container, run).behaviour
        return scripted_command(behaviour, ContainerRun(pod, container, run.run), command, stdin=stdin, tty=tty)

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Conversation:
        run = running_run(pod, container)
        self.observers.check_room()

        async def show_output(streams: Streams) -> int:
            # The output from now on, as a container engine shows it.
            with self.observers.observing(pod, container, run) as observer:
                log = RunLog(observer, LogOptions(follow=True, tail_lines=0), self._clock)
                async for line in log.lines():
                    await streams.write(f"{line.text}\n".encode(), stderr=line.stderr)
            return 0

        return show_output

    # The ports

    async def request(self, pod: Object, port: int, request: PortRequest) -> PortReply:
        return await self._ports.request(pod, port, request)

    async def forward(self, pod: Object, port: int) -> Conversation:
        return await self._ports.forward(pod, port)

    def unreachable(self) -> str:
        return "pods are simulated, and no process listens at their ports"

    # The usage

    async def pod_sample(self, pod: Object) -> PodSample | None:
        containers = self._usage(pod)
        return PodSample(self._clock.now(), WINDOW_SECONDS, containers) if containers else None

    async def node_sample(self, node: str) -> NodeSample | None:
        cpu, memory = 0.0, 0
        for key in self._nodes.pods_on(node):
            found = self._cache.entry(self._pod, key.name, key.namespace)
            if found is None:
                continue  # deleted meanwhile
            for usage in self._usage(found.object).values():
                cpu += usage.cpu_cores
                memory += usage.memory_bytes
        return NodeSample(self._clock.now(), WINDOW_SECONDS, Usage(cpu, memory))

    def _usage(self, pod: Object) -> dict[str, Usage]:
        """Returns the usage of the running containers of a pod."""
        without_script = _usage_without_script(pod)
        found = {}
        for name in _STATUSES:
            for status in (pod.get("status") or {}).get(name) or ():
                if "running" in status["state"]:
                    reported = RunTimes(status["restartCount"], started_at(status))
                    behaviour, times = self._nodes.run_of(pod, status["name"], reported)
                    seconds = (self._clock.now() - times.start).total_seconds()
                    cpu = _at(behaviour.cpu, seconds, without_script.cpu_cores)
                    memory = _at(behaviour.memory, seconds, without_script.memory_bytes)
                    found[status["name"]] = Usage(cpu, memory)
        return found


def _at(given: N | Callable[[float], N] | None, seconds: float, otherwise: N) -> N:
    """Returns a scripted amount at a time since the start."""
    if given is None:
        return otherwise
    return given(seconds) if callable(given) else given


def _usage_without_script(pod: Object) -> Usage:
    cpu, memory = given_usage(pod)
    return Usage(LEAST_USAGE.cpu_cores if cpu is None else cpu, LEAST_USAGE.memory_bytes if memory is None else memory)
