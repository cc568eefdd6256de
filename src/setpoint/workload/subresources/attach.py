"""`…/executables/name/attach`: a process that runs, to talk with, by the channels of Kubernetes over a WebSocket.

Input goes to its standard input, where the spec has it open; what it says from now on comes back. A terminal shows also
what it said last, and takes input and sizes from whoever looks at it. When the process ends, its exit code is told as
Kubernetes tells it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

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
from setpoint.workload.controllers.running import Run
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.store import LogStore
from setpoint.workload.process.streams import Stdin
from setpoint.workload.terminal.hmp import Size
from setpoint.workload.terminal.screen import Screen
from setpoint.workload.workloads import Workloads

NAME = "attach"
STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_SOURCES = {"stdout": STDOUT, "stderr": STDERR}
# What may wait for a process that does not read before its client has to.
_MOST_WAITING = 64
# What a terminal may have shown before a client that does not read is left.
_MOST_UNSEEN = 4 << 20


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
        run = execution.run
        if run.screen is not None:
            attached = _Attached(run, {STDOUT: partial(_shown, run.screen)}, run.screen)
            return Response(200, "text/plain", attached, [(PROTOCOL, chosen)])
        stdin = run.running.stdin if run.running is not None else None
        if "stdin" in context.query and truth(context.query["stdin"][-1]) and stdin is None:
            raise BadRequest(f"{name} does not listen to its standard input: set spec.stdin to true, and restart it")
        logs = workloads.world.logs
        said = {channel: partial(_said, logs, execution.uid, source) for source, channel in _SOURCES.items()}
        return Response(200, "text/plain", _Attached(run, said, stdin), [(PROTOCOL, chosen)])


class _Attached:
    """One client, and a process: what it says, by channel, and who is told what the client says."""

    def __init__(
        self, run: Run, said: Mapping[int, Callable[[], AsyncIterator[bytes]]], told: Stdin | Screen | None
    ) -> None:
        self._run, self._said, self._told = run, said, told
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def run(self, sink: Sink) -> None:
        run = self._run
        if not isinstance(sink, Line):
            return

        def hear(message: bytes) -> None:
            self._heard.put_nowait(message)
            if self._heard.qsize() >= _MOST_WAITING:
                sink.hold(True)

        sink.listen(hear)
        telling = [asyncio.ensure_future(_tell(sink, channel, said())) for channel, said in self._said.items()]
        feeding = asyncio.ensure_future(self._feed(sink))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            all_told = asyncio.gather(*telling, return_exceptions=True)
            await asyncio.wait((all_told, gone), return_when=asyncio.FIRST_COMPLETED)
            if run.exited.done() and not run.exited.cancelled():
                ended = run.exited.result()
                code = ended.code if ended.code is not None else 128 + (ended.signal or 0)
                sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(_ended(code))))
                await sink.drain()
        finally:
            for task in (*telling, feeding, gone):
                task.cancel()
            await asyncio.gather(*telling, feeding, gone, return_exceptions=True)

    async def _feed(self, sink: Line) -> None:
        """Passes on what it is told."""
        told = self._told
        while True:
            message = await self._heard.get()
            if self._heard.qsize() == 0:
                sink.hold(False)
            if told is None or not message:
                continue
            if message[0] == STDIN:
                try:
                    await told.write(message[1:])
                except (BrokenPipeError, OSError):
                    return  # it listens no more
            elif isinstance(told, Screen):
                if message[0] == RESIZE and (size := _size(message[1:])) is not None:
                    told.resize(size)
            elif message[0] == CLOSE and message[1:2] == bytes((STDIN,)):
                told.close()


async def _tell(sink: Sink, channel: int, said: AsyncIterator[bytes]) -> None:
    async for piece in said:
        if not (sink.write(Frame(bytes((channel,)) + piece)) and await sink.drain()):
            return


async def _said(logs: LogStore, uid: str, source: str) -> AsyncIterator[bytes]:
    """What a process says from now on."""
    track = logs.of(uid).tracks.get(source)
    skip = track.complete() if track is not None else 0
    async for piece in logs.read(uid, LogOptions(source, follow=True, skip=skip)):
        yield piece


class _Looking:
    """Somebody who looks at a terminal; None in the queue is its end."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting = 0

    def output(self, data: bytes) -> None:
        self._waiting += len(data)
        if self._waiting > _MOST_UNSEEN:
            self.ended(0)  # who does not read loses the terminal, and not the process its time
        else:
            self.seen.put_nowait(data)

    def resized(self, size: Size) -> None:
        """Terminals of clients have their own size."""

    def ended(self, code: int) -> None:
        self.seen.put_nowait(None)

    async def next(self) -> bytes | None:
        data = await self.seen.get()
        self._waiting -= len(data or b"")
        return data


async def _shown(screen: Screen) -> AsyncIterator[bytes]:
    """What a terminal showed last, and what it shows from now on."""
    looking = _Looking()
    past = screen.join(looking)
    try:
        if past:
            yield past
        while (data := await looking.next()) is not None:
            yield data
    finally:
        screen.leave(looking)


def _size(message: bytes) -> Size | None:
    """The size that a client asks for; None where it is none."""
    try:
        found = msgspec.json.decode(message, type=_Resize)
    except msgspec.DecodeError:
        return None
    size = Size(found.width, found.height)
    return size if all(0 < each < 1 << 16 for each in size) else None


class _Resize(msgspec.Struct, rename="pascal"):
    """How clients of Kubernetes say the size of their terminal."""

    width: int = 0
    height: int = 0


def _ended(code: int) -> Object:
    """How a process ended, in the shape of the API."""
    kind = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    if code == 0:
        return {**kind, "status": "Success"}
    return {
        **kind,
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
