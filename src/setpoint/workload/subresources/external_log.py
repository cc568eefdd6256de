"""`GET …/executables/name/log` in a server whose controllers run in another process: read from their log files.

Our controllers write to the directory that both are configured with. The controllers of DCP name their files in the
status of an object; such a file is only read below one of the given directories, because a status is written by
clients. Output that a container printed before the controllers knew the container is not available.
"""

import os
from collections.abc import Sequence
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
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.kinds.container import DONE
from setpoint.workload.kinds.executable import FINAL
from setpoint.workload.logs.external_log import ExternalLogs
from setpoint.workload.logs.foreign_log import foreign_lines
from setpoint.workload.logs.options import parse
from setpoint.workload.subresources.log import ABSENT, NAME, TEXT, LogStream, check

_OVER = frozenset({*FINAL, *DONE})
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
        uid = meta.uid(tree)
        is_over = partial(_is_over, context, resource, uid)
        if (path := self._named(tree, options.source)) is not None:
            return Response(200, TEXT, LogStream(foreign_lines(path, options, is_over, self._clock)))
        if self._logs is None:
            raise ServiceUnavailable(
                "the logs are stored by the controllers: start both with the same directory in DCP_SESSION_FOLDER"
            )
        pieces = self._logs.read(uid, options, is_over)
        return Response(200, TEXT, LogStream(pieces))

    def _named(self, tree: Object, source: str) -> Path | None:
        """Returns the file that a foreign controller names in the status; None if there is none, or for ours."""
        name = (tree.get("status") or {}).get(_FILES.get(source, ""))
        if not name or not os.path.isabs(name):
            return None
        path = Path(os.path.realpath(name))
        if self._folder is not None and path.is_relative_to(self._folder.resolve()):
            return None
        return path if any(path.is_relative_to(each.resolve()) for each in self._foreign) else None


async def _is_over(context: Context, resource: Resource, uid: str) -> bool:
    try:
        tree = resource.item(await read(context, resource))
    except NotFound:
        return True
    return meta.uid(tree) != uid or (tree.get("status") or {}).get("state") in _OVER
