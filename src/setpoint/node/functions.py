"""The interface of an agent: all functions of nodes that the API server needs.

An agent serves one node, as a kubelet does, or several. An object of a pod is passed as stored, and is not changed.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

from setpoint.node.log_options import LogOptions
from setpoint.node.ports import PortReply, PortRequest
from setpoint.node.streams import Conversation
from setpoint.node.usage import NodeSample, PodSample
from setpoint.objects.tree import Object


class NodeFunctions(Protocol):
    """The functions of the nodes of one agent."""

    def has(self, node: str) -> bool:
        """Returns True if the agent serves the node of this name."""

    async def logs(self, pod: Object, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Returns the log of a container of the pod, in pieces. Raises BadRequest for a container without a log, and
        TooManyRequests if too many logs are being followed."""

    async def exec(
        self, pod: Object, container: str, command: Sequence[str], *, stdin: bool, tty: bool
    ) -> Conversation:
        """Prepares a command in a container of the pod. Raises APIError if the command cannot be run."""

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Conversation:
        """Prepares the connection to the main process of a container, until its end. Raises APIError."""

    async def request(self, pod: Object, port: int, request: PortRequest) -> PortReply:
        """Sends a request to a port of the pod, and returns the answer. Raises APIError if no application answers."""

    async def forward(self, pod: Object, port: int) -> Conversation:
        """Prepares a connection to a port of the pod. Raises APIError if no application answers."""

    def unreachable(self) -> str:
        """Returns the reason for which the server cannot connect to the ports of pods; empty if connections are
        possible."""

    async def pod_sample(self, pod: Object) -> PodSample | None:
        """Returns the usage of a pod; None for a pod that does not run, or without a sample yet. Takes constant time: a
        caller with many pods yields between calls."""

    async def node_sample(self, node: str) -> NodeSample | None:
        """Returns the usage of a node; None without a sample. Takes time in proportion to the pods of the node."""


class NodeAgents:
    """The agents of the nodes of a server. A server without agents does not connect to nodes."""

    def __init__(self, agents: Iterable[NodeFunctions] = ()) -> None:
        self._agents = list(agents)

    def add(self, agent: NodeFunctions) -> None:
        """Adds an agent."""
        self._agents.append(agent)

    def remove(self, agent: NodeFunctions) -> None:
        """Removes an agent."""
        self._agents.remove(agent)

    def of(self, node: str) -> NodeFunctions | None:
        """Returns the agent of a node, or None."""
        return next((agent for agent in self._agents if agent.has(node)), None)

    def unreachable(self) -> str:
        """Returns the reason for which no pod is reachable; empty if an agent has reachable pods, or without agents."""
        reasons = [agent.unreachable() for agent in self._agents]
        return reasons[0] if reasons and all(reasons) else ""
