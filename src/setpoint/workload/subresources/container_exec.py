"""`…/containers/name/exec`: runs a command in a running container, by the channels of Kubernetes.

The parameters are those of `kubectl exec`: `command`, once for each word, `stdin`, `stdout`, `stderr` and `tty`; and
three of our own: `env` (NAME=VALUE, once for each variable), `workingDirectory` and `user`.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

import msgspec

from setpoint.node.streams import Size
from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.server.handshake import PROTOCOL
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.write_options import is_requested
from setpoint.server.verbs.channels import (
    ERROR,
    SOURCES,
    ClientInput,
    ClientMessages,
    Conversation,
    chosen_protocol,
)
from setpoint.server.verbs.get import read
from setpoint.workload.engine.attachment import Exec
from setpoint.workload.engine.engine import Engine
from setpoint.workload.engine.errors import EngineError
from setpoint.workload.subresources.presence import present
from setpoint.workload.workloads import Workloads

NAME = "exec"


class ExecEndpoint:
    """Serves exec for Containers."""

    def __init__(self, workloads: Callable[[], Workloads | None]) -> None:
        self._workloads = workloads

    async def connect(self, context: Context, resource: Resource) -> Response:
        """Runs a command for a client. Raises BadRequest, NotFound or ServiceUnavailable."""
        workloads = present(self._workloads())
        tree = resource.item(await read(context, resource))
        chosen = chosen_protocol(context, "running a command")
        command = context.query.get("command") or []
        if not command:
            raise BadRequest("command: required, once for each word of the command")
        life, engine = workloads.containers.find(meta.uid(tree)), workloads.machine.engines.engine
        if life is None or engine is None or life.state != "Running":
            state = (tree.get("status") or {}).get("state") or "it has not started"
            raise BadRequest(f"{resource.kind} {meta.name(tree)} is not running: {state}")
        env = tuple(context.query.get("env") or ())
        if wrong := next((each for each in env if not each.partition("=")[0] or "=" not in each), None):
            raise BadRequest(f"env: invalid value {wrong!r}: expected NAME=VALUE")
        request = _ExecRequest(
            life.id,
            tuple(command),
            is_requested(context, "stdin"),
            is_requested(context, "tty"),
            env,
            *((context.query.get(name) or [""])[0] for name in ("workingDirectory", "user")),
        )
        return Response(200, "text/plain", _Executed(engine, request), [(PROTOCOL, chosen)])


class _ExecRequest(NamedTuple):
    """The request of a client."""

    container: str
    command: tuple[str, ...]
    stdin: bool
    tty: bool
    env: tuple[str, ...] = ()
    directory: str = ""
    user: str = ""


class _Executed:
    """A command that runs for a client."""

    def __init__(self, engine: Engine, request: _ExecRequest) -> None:
        self._engine, self._request = engine, request

    async def run(self, sink: Sink) -> None:
        container, command, stdin, tty, env, directory, user = self._request
        messages = ClientMessages(sink)
        try:
            async with self._engine.containers.exec(
                container, command, env=env, directory=directory, user=user, stdin=stdin, tty=tty
            ) as run:
                listener = client_input(run, tty=tty) if stdin or tty else None
                await Conversation([lambda: _output(run)], listener, run.exit_code).exchange(sink, messages)
        except EngineError as error:
            failed = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            failed |= {"message": error.message, "reason": "InternalError"}
            sink.write(Frame(bytes((ERROR,)) + msgspec.json.encode(failed)))
            await sink.drain()


def client_input(run: Exec, *, tty: bool) -> ClientInput:
    """Returns the receiver of a client's input."""

    async def write(data: bytes) -> None:
        try:
            await run.write(data)
        except EngineError as error:
            raise BrokenPipeError(error.message) from None

    async def resize(size: Size) -> None:
        # A command that has just ended has no terminal.
        with suppress(EngineError):
            await run.resize(*size)

    return ClientInput(write, run.end_input, resize if tty else None)


async def _output(run: Exec) -> AsyncIterator[tuple[int, bytes]]:
    async for source, data in run:
        yield SOURCES[source], data
