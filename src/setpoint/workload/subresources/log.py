"""`GET …/executables/name/log`: the output of a workload as text, to its end or following.

The parameters are DCP's (see `logs.options`); Kubernetes' names are supported as well.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

from setpoint.objects import meta
from setpoint.objects.errors import BadRequest
from setpoint.objects.tree import Object
from setpoint.server.message import Frame, Response, Sink
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.verbs.get import read
from setpoint.workload.logs.log_store import LogStore
from setpoint.workload.logs.options import LogOptions, parse
from setpoint.workload.subresources.presence import present

_PROCESS = ("stdout", "stderr", "system", "all")
SOURCES: Mapping[str, tuple[str, ...]] = {
    "Executable": _PROCESS,
    "ContainerExec": _PROCESS,
    "Container": ("stdout", "stderr", "startup_stdout", "startup_stderr", "system", "all"),
}
NAME = "log"


class LogEndpoint:
    """Serves the logs of all kinds with logs. `store` returns them once available."""

    def __init__(self, store: Callable[[], LogStore | None]) -> None:
        self._store = store

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the requested log. Raises BadRequest, NotFound or ServiceUnavailable."""
        store = present(self._store())
        options = parse({name: values[-1] for name, values in context.query.items()})
        tree = resource.item(await read(context, resource))
        check(resource.kind, tree, options)
        return Response(200, "text/plain; charset=utf-8", LogStream(store.read(meta.uid(tree), options)))


def check(kind: str, tree: Object, options: LogOptions) -> None:
    """Raises BadRequest if an object does not have the requested log."""
    name = f"{kind} {meta.name(tree)}"
    if options.source not in SOURCES[kind]:
        raise BadRequest(f"source: {name} has no log {options.source!r}; available: {', '.join(SOURCES[kind])}")
    if options.source == "system":
        return
    if meta.is_being_deleted(tree):
        raise BadRequest(f"{name} is being deleted with its log")
    if tree["spec"].get("terminal") is not None:
        raise BadRequest(f"{name} has a terminal and therefore no log: attach to the terminal instead")
    if kind == "Container" and (tree.get("status") or {}).get("state") == "Unknown":
        raise BadRequest(f"{name} no longer exists: its container was removed with its log")


class LogStream:
    """Streams a log to a client."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    async def run(self, sink: Sink) -> None:
        sending = asyncio.ensure_future(self._send(sink))
        gone = asyncio.ensure_future(sink.wait_closed())
        try:
            await asyncio.wait((sending, gone), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send(self, sink: Sink) -> None:
        async for piece in self._pieces:
            if not (sink.write(Frame(piece)) and await sink.drain()):
                return
