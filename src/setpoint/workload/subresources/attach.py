"""`…/executables/name/attach`: a process that runs, to talk with, by the channels of Kubernetes over a WebSocket.

Input goes to its standard input, where the spec has it open; what it says from now on comes back. When it ends, its
exit code is told as Kubernetes tells it.
"""

import asyncio
from collections.abc import Callable

import msgspec

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest, ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.server.context import Context
from setpoint.server.exchange import Frame, Line, Response, Sink
from setpoint.server.http.websocket import PROTOCOL, offered
from setpoint.server.options import truth
from setpoint.server.resource import Resource
from setpoint.server.verbs.get import read
from setpoint.workload.controllers.execution import Execution
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.process.streams import Stdin
from setpoint.workload.workloads import Workloads

NAME = "attach"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_SOURCES = {"stdout": STDOUT, "stderr": STDERR}
# What may wait for a process that does not read before its client has to.
_MOST_WAITING = 64


class AttachEndpoint:
    """Answers for the processes of Executables."""

    def __init__(self, workloads: Callable[[], Workloads | None]) -> None:
        self._workloads = workloads

    async def connect(self, context: Context, resource: Resource) -> Response:
        """Joins a client with a process. Raises BadRequest, NotFound and ServiceUnavailable."""
        workloads = self._workloads()
        if workloads is None:
            raise ServiceUnavailable("workloads are not run by this control plane: start it with --workloads")
        tree = resource.item(await read(context, resource))
        name = f"{resource.kind} {meta.name(tree)}"
        offer = offered(context.request.headers)
        chosen = None if offer is None else next((each for each in PROTOCOLS if each in offer.protocols), None)
        if chosen is None:
            raise BadRequest(f"attaching takes a WebSocket that speaks {' or '.join(PROTOCOLS)}")
        execution = workloads.executables.find(meta.uid(tree))
        if execution is None or execution.run is None:
            raise BadRequest(f"{name} does not run: {(tree.get('status') or {}).get('state') or 'it has not begun'}")
        stdin = execution.run.running.stdin if execution.run.running is not None else None
        if "stdin" in context.query and truth(context.query["stdin"][-1]) and stdin is None:
            raise BadRequest(f"{name} does not listen to its standard input: set spec.stdin to true, and restart it")
        return Response(200, "text/plain", _Attached(workloads, execution, stdin), [(PROTOCOL, chosen)])


class _Attached:
    """One client, and a process."""

    def __init__(self, workloads: Workloads, execution: Execution, stdin: Stdin | None) -> None:
        self._logs = workloads.world.logs
        self._execution, self._stdin = execution, stdin
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def run(self, sink: Sink) -> None:
        run = self._execution.run
        if run is None or not isinstance(sink, Line):
            return

        def hear(message: bytes) -> None:
            self._heard.put_nowait(message)
            if self._heard.qsize() >= _MOST_WAITING:
                sink.hold(True)

        sink.listen(hear)
        telling = [asyncio.ensure_future(self._tell(sink, source)) for source in _SOURCES]
        feeding = asyncio.ensure_future(self._feed(sink))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            await asyncio.wait((*telling, gone), return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await asyncio.wait((asyncio.gather(*telling, return_exceptions=True), gone))
            if run.exited.done() and not run.exited.cancelled():
                ended = run.exited.result()
                code = ended.code if ended.code is not None else 128 + (ended.signal or 0)
                sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(_ended(code))))
                await sink.drain()
        finally:
            for task in (*telling, feeding, gone):
                task.cancel()
            await asyncio.gather(*telling, feeding, gone, return_exceptions=True)

    async def _tell(self, sink: Sink, source: str) -> None:
        """Passes on what it says from now on."""
        track = self._logs.of(self._execution.uid).tracks.get(source)
        skip = track.complete() if track is not None else 0
        channel = bytes((_SOURCES[source],))
        async for piece in self._logs.read(self._execution.uid, LogOptions(source, follow=True, skip=skip)):
            if not (sink.write(Frame(channel + piece)) and await sink.drain()):
                return

    async def _feed(self, sink: Line) -> None:
        """Passes on what it is told."""
        stdin = self._stdin
        while True:
            message = await self._heard.get()
            if self._heard.qsize() == 0:
                sink.hold(False)
            if stdin is None or not message:
                continue
            if message[0] == CLOSE and message[1:2] == bytes((STDIN,)):
                stdin.close()
            elif message[0] == STDIN:
                try:
                    await stdin.write(message[1:])
                except (BrokenPipeError, OSError):
                    return  # it listens no more


def _ended(code: int) -> Object:
    """How a process ended, in the shape of the API."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
