"""The ports of simulated pods: functions of scripts answer the HTTP requests of clients."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from setpoint.node.ports import PortReply, PortRequest
from setpoint.node.streams import Conversation, Streams
from setpoint.objects.errors import InternalError, ServiceUnavailable, TooManyRequests
from setpoint.objects.tree import Object
from setpoint.system.node_scripts import ContainerRun, PortCall, PortScript
from setpoint.system.nodes.container_status import started_at
from setpoint.system.nodes.http_connection import serve_requests
from setpoint.system.nodes.pod_memory import RunTimes
from setpoint.system.nodes.script_call import call_script
from setpoint.system.nodes.simulated_nodes import SimulatedNodes

# The most requests and connections at a time, and the most bytes of an answer.
MOST_AT_ONCE = 1_000
MOST_REPLY_BYTES = 16 << 20
_RETRY_SECONDS = 10
_STATUSES = ("containerStatuses", "initContainerStatuses")
_HEADER_NAME, _HEADER_VALUE = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"), re.compile(r"[\t -~]*")


class ScriptedPorts:
    """The ports of the pods of all simulated nodes."""

    def __init__(self, nodes: SimulatedNodes) -> None:
        self._nodes = nodes
        self._number = 0

    async def request(self, pod: Object, port: int, request: PortRequest) -> PortReply:
        """Returns the answer to a request. Raises ServiceUnavailable, TooManyRequests or InternalError."""
        script, run = self._script(pod, port)
        with self._room():
            return await _answer(script, PortCall(run, port, request))

    async def forward(self, pod: Object, port: int) -> Conversation:
        """Prepares a connection with any number of requests. Raises ServiceUnavailable or TooManyRequests."""
        script, run = self._script(pod, port)
        self._check_room()

        async def answer(request: PortRequest) -> PortReply:
            return await _answer(script, PortCall(run, port, request))

        async def converse(streams: Streams) -> int:
            with self._room():
                await serve_requests(streams, answer)
            return 0

        return converse

    def _script(self, pod: Object, port: int) -> tuple[PortScript, ContainerRun]:
        """Returns the script for a port, and the run of its container. Raises ServiceUnavailable."""
        for name in _STATUSES:
            for status in (pod.get("status") or {}).get(name) or ():
                if "running" not in status["state"]:
                    continue
                times = RunTimes(status["restartCount"], started_at(status))
                found = self._nodes.run_of(pod, status["name"], times).behaviour.ports.get(port)
                if found is not None:
                    return found, ContainerRun(pod, status["name"], times.run)
        raise ServiceUnavailable(
            f"error trying to reach service: pod {pod['metadata']['name']} is simulated, and no script of a running "
            f"container answers at port {port}: use Behaviour(ports={{{port}: FUNCTION}})"
        )

    def _check_room(self) -> None:
        if self._number >= MOST_AT_ONCE:
            text = f"the ports of simulated pods have {MOST_AT_ONCE} connections already: end one of them first"
            raise TooManyRequests.of(text, retry_after_seconds=_RETRY_SECONDS)

    @contextmanager
    def _room(self) -> Iterator[None]:
        self._check_room()
        self._number += 1
        try:
            yield
        finally:
            self._number -= 1


async def _answer(script: PortScript, call: PortCall) -> PortReply:
    """Returns the checked answer of a script. Raises InternalError."""
    container = call.run.container
    reply = await call_script(script, call, PortReply, container)
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    problem = ""
    if len(body) > MOST_REPLY_BYTES:
        problem = f"a body of {len(body)} bytes: return at most {MOST_REPLY_BYTES}"
    elif not 200 <= reply.status <= 599:
        problem = f"the status {reply.status}: return one from 200 to 599"
    else:
        for name, value in reply.headers.items():
            if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
                problem = f"the invalid header {name!r}: {value!r}"
    if problem:
        raise InternalError(f"the script of container {container} returned {problem}")
    return reply._replace(body=body)
