"""`…/executables/name/attach` attaches to a running process, and `…/containerexecs/name/attach` to a command in a
container, by the channels of Kubernetes over a WebSocket.

Input is sent to the standard input, if open by the spec; output from now on is returned. A terminal also shows its last
output, and accepts input and sizes of its viewers. At the end, the exit code is reported as in Kubernetes.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from setpoint.node.streams import Size
from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import is_requested
from setpoint.server.verbs.channels import (
    SOURCES,
    STDOUT,
    ClientInput,
    Conversation,
    Said,
    chosen_protocol,
)
from setpoint.server.verbs.get import read
from setpoint.workload.controllers.container.exec import Command
from setpoint.workload.controllers.executable.process_run import ExecutableRun
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions
from setpoint.workload.subresources.container_exec import client_input
from setpoint.workload.subresources.presence import present
from setpoint.workload.terminal.screen import Screen
from setpoint.workload.workloads import Workloads

NAME = "attach"
# The maximum size of unread output before a client is disconnected.
_MOST_UNSEEN = 4 << 20


class AttachEndpoint:
    """Serves attach for Executables, ContainerExecs, and Containers with a terminal."""

    def __init__(self, workloads: Callable[[], Workloads | None]) -> None:
        self._workloads = workloads

    async def connect(self, context: Context, resource: Resource) -> Response:
        """Attaches a client to a process. Raises BadRequest, NotFound or ServiceUnavailable."""
        workloads = present(self._workloads())
        tree = resource.item(await read(context, resource))
        name = f"{resource.kind} {meta.name(tree)}"
        chosen = chosen_protocol(context, "attaching")
        if resource.kind == "ContainerExec":
            spoken = await self._command(workloads, context, tree)
            return Response(200, "text/plain", spoken, [(PROTOCOL, chosen)])
        if resource.kind == "Container":
            container = workloads.containers.find(meta.uid(tree))
            if container is None or container.last_screen is None:
                hint = "see its log instead" if "terminal" not in tree["spec"] else "it has not started"
                raise BadRequest(f"{name} has no terminal: {hint}")
            return Response(200, "text/plain", _terminal(container.last_screen), [(PROTOCOL, chosen)])
        execution = workloads.executables.find(meta.uid(tree))
        screen = execution.last_screen if execution is not None else None
        if screen is not None:
            return Response(200, "text/plain", _terminal(screen), [(PROTOCOL, chosen)])
        if execution is None or execution.run is None:
            raise _not_running(name, tree)
        run = execution.run
        stdin = run.running.stdin if run.running is not None else None
        if is_requested(context, "stdin") and stdin is None:
            raise BadRequest(f"{name} has no open standard input: set spec.stdin to true, and restart it")
        listener = ClientInput(stdin.write, stdin.close) if stdin is not None else None
        attached = Conversation(_all_outputs(workloads, tree), listener, partial(_exit_code, run))
        return Response(200, "text/plain", attached, [(PROTOCOL, chosen)])

    async def _command(self, workloads: Workloads, context: Context, tree: Object) -> Conversation:
        """Attaches a client to a command in a container. Raises BadRequest."""
        name = f"ContainerExec {meta.name(tree)}"
        command = await workloads.execs.find(meta.uid(tree))
        if command is None:
            raise _not_running(name, tree)
        listens = bool(tree["spec"].get("stdin"))
        if is_requested(context, "stdin") and not listens:
            raise BadRequest(f"{name} has no open standard input: create one with spec.stdin set to true")
        listener = client_input(command.started, tty=False) if listens else None
        return Conversation(_all_outputs(workloads, tree), listener, partial(_command_code, command))


def _terminal(screen: Screen) -> Conversation:
    """Returns a conversation with a terminal. After the end of the program, shows its last output and exit code."""

    async def code() -> int | None:
        return screen.code

    typed = ClientInput(screen.write, resize=partial(_resize, screen))
    return Conversation([partial(_shown, screen)], typed, code)


def _not_running(name: str, tree: Object) -> BadRequest:
    return BadRequest(f"{name} is not running: {(tree.get('status') or {}).get('state') or 'it has not started'}")


def _all_outputs(workloads: Workloads, tree: Object) -> Sequence[Said]:
    return [partial(_output, workloads.machine.logs, meta.uid(tree), source) for source in SOURCES]


async def _command_code(command: Command) -> int | None:
    """Returns the exit code of a command; None while running, or if unknown."""
    work = command.work
    is_known = work.done() and not work.cancelled() and work.exception() is None
    return work.result() if is_known else None


async def _exit_code(run: ExecutableRun) -> int | None:
    """Returns the exit code of a process; None while running."""
    if not run.exited.done() or run.exited.cancelled():
        return None
    ended = run.exited.result()
    return ended.code if ended.code is not None else 128 + (ended.signal or 0)


async def _resize(screen: Screen, size: Size) -> None:
    screen.resize(size)


async def _output(logs: LogStore, uid: str, source: str) -> AsyncIterator[tuple[int, bytes]]:
    """Yields the output of a process from now on."""
    track = logs.of(uid).tracks.get(source)
    skip = track.complete() if track is not None else 0
    async for piece in logs.read(uid, LogOptions(source, follow=True, skip=skip)):
        yield SOURCES[source], piece


class _Viewer:
    """A viewer of a terminal; None in the queue is its end."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._waiting = 0

    def output(self, data: bytes) -> None:
        self._waiting += len(data)
        if self._waiting > _MOST_UNSEEN:
            self.ended(0)  # a client that does not read is disconnected, and does not block the process
        else:
            self.seen.put_nowait(data)

    def resized(self, size: Size) -> None:
        """Does nothing: terminals of clients have their own size."""

    def ended(self, code: int) -> None:
        self.seen.put_nowait(None)

    async def next(self) -> bytes | None:
        data = await self.seen.get()
        self._waiting -= len(data or b"")
        return data


async def _shown(screen: Screen) -> AsyncIterator[tuple[int, bytes]]:
    """Yields the last output of a terminal, and its output from now on."""
    looking = _Viewer()
    past = screen.join(looking)
    try:
        if past:
            yield STDOUT, past
        while (data := await looking.next()) is not None:
            yield STDOUT, data
    finally:
        screen.detach(looking)
