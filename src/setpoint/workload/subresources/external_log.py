"""`GET …/executables/name/log` in a server whose controllers run in another process: read from their log files.

Our controllers write to the directory that both are configured with. The controllers of DCP name their files in the
status of an object; such a file is only read below one of the given directories, because a status is written by
clients. Their log `system` is a file of the session with the kind and the uid of the object in its name. A client that
follows a log waits until there is one. Output that a container printed before the controllers knew the container is not
available.
"""

import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest, NotFound, ServiceUnavailable
from setpoint.objects.tree import Object
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.extension import Extension
from setpoint.server.verbs.get import read
from setpoint.server.verbs.text_stream import TextStream
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.kinds.container import DONE
from setpoint.workload.kinds.executable import FINAL
from setpoint.workload.logs.external_log import ExternalLogs, IsOver
from setpoint.workload.logs.foreign_log import foreign_lines
from setpoint.workload.logs.options import LogOptions, parse
from setpoint.workload.subresources.log import ABSENT, NAME, TEXT, check

_OVER = frozenset({*FINAL, *DONE})
# The states in which a container writes its startup logs.
_BEFORE = frozenset({"", "Pending", "RuntimeUnhealthy", "Building", "Starting"})
_LOOK_SECONDS = 0.2
_STARTUP = frozenset({"startup_stdout", "startup_stderr"})
# The fields of a status with the file of each log.
_FILES = {
    "stdout": "stdOutFile",
    "stderr": "stdErrFile",
    "startup_stdout": "startupStdOutFile",
    "startup_stderr": "startupStdErrFile",
}


class ExternalLogSubresource:
    """Serves the logs of all kinds with logs. Without a directory, requests fail with the remedy. `foreign` are the
    directories below which files that a status names are read."""

    def __init__(self, folder: Path | None, clock: Clock, foreign: Sequence[Path] = ()) -> None:
        self._logs = ExternalLogs(folder, clock) if folder is not None else None
        self._folder, self._clock, self._foreign = folder, clock, foreign

    @property
    def extensions(self) -> Sequence[Extension]:
        """The extensions of the server."""
        return [Extension(GROUP, f"{kind.lower()}s", NAME, {"get": self.get}) for kind in ABSENT]

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the requested log. Raises BadRequest, NotFound or ServiceUnavailable."""
        options = parse({name: values[-1] for name, values in context.query.items()})
        if options.selects_lines or options.selects_attempt or "with" in context.query:
            raise BadRequest(
                "grep, level, format, names, attempt, previous, with: not supported by a server that runs no workloads"
            )
        tree = resource.item(await read(context, resource))
        check(resource.kind, tree, options)
        if options.source in ABSENT[resource.kind]:
            return Response(200, TEXT, b"")
        is_over = partial(_is_over, context, resource, meta.uid(tree), options.source)
        if self._logs is None and self._named(resource.kind, tree, options.source) is None and not options.follow:
            raise ServiceUnavailable(
                "the logs are stored by the controllers: start both with the same directory in DCP_SESSION_FOLDER"
            )
        return Response(200, TEXT, TextStream(self._pieces(context, resource, tree, options, is_over)))

    async def _pieces(
        self, context: Context, resource: Resource, tree: Object, options: LogOptions, is_over: IsOver
    ) -> AsyncIterator[bytes]:
        """Yields the lines of the log, which the controllers may not have begun."""
        uid = meta.uid(tree)
        while True:
            over = not options.follow or await is_over()
            if (path := self._named(resource.kind, tree, options.source)) is not None:
                async for piece in foreign_lines(path, options, is_over, self._clock):
                    yield piece
                return
            if self._logs is not None and (over or self._logs.has(uid)):
                async for piece in self._logs.read(uid, options, is_over):
                    yield piece
                return
            if over:
                return
            await self._clock.sleep(_LOOK_SECONDS)
            try:
                tree = resource.item(await read(context, resource))
            except NotFound:
                return

    def _named(self, kind: str, tree: Object, source: str) -> Path | None:
        """Returns the file of a foreign controller; None if there is none, or for ours."""
        if source == "system":
            name = f"resource-{kind.lower()}-{meta.uid(tree)}.log"
            return next((each / name for each in self._foreign if (each / name).exists()), None)
        named = (tree.get("status") or {}).get(_FILES.get(source, ""))
        if not named or not os.path.isabs(named):
            return None
        path = Path(os.path.realpath(named))
        if self._folder is not None and path.is_relative_to(self._folder.resolve()):
            return None
        return path if any(path.is_relative_to(each.resolve()) for each in self._foreign) else None


async def _is_over(context: Context, resource: Resource, uid: str, source: str) -> bool:
    try:
        tree = resource.item(await read(context, resource))
    except NotFound:
        return True
    state = (tree.get("status") or {}).get("state") or ""
    is_started = source in _STARTUP and state not in _BEFORE
    return meta.uid(tree) != uid or is_started or state in _OVER
