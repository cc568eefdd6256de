"""`GET …/executables/name/log` in a server whose controllers run in another process: read from their log files.

Both must be configured with the same directory. The logs of persistent processes, and output that a container printed
before the controllers knew the container, are not available.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import BadRequest, NotFound, ServiceUnavailable
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.extension import Extension
from setpoint.server.verbs.get import read
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.kinds.container import DONE
from setpoint.workload.kinds.executable import FINAL
from setpoint.workload.logs.external_log import ExternalLogs
from setpoint.workload.logs.options import parse
from setpoint.workload.subresources.log import ABSENT, NAME, TEXT, LogStream, check

_OVER = frozenset({*FINAL, *DONE})


class ExternalLogSubresource:
    """Serves the logs of all kinds with logs. Without a directory, requests fail with the remedy."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._logs = ExternalLogs(folder, clock) if folder is not None else None

    @property
    def extensions(self) -> Sequence[Extension]:
        """The extensions of the server."""
        return [Extension(GROUP, f"{kind.lower()}s", NAME, {"get": self.get}) for kind in ABSENT]

    async def get(self, context: Context, resource: Resource) -> Response:
        """Returns the requested log. Raises BadRequest, NotFound or ServiceUnavailable."""
        if self._logs is None:
            raise ServiceUnavailable(
                "the logs are stored by the controllers: start both with the same directory in DCP_SESSION_FOLDER"
            )
        options = parse({name: values[-1] for name, values in context.query.items()})
        if options.selects_lines or options.selects_attempt or "with" in context.query:
            raise BadRequest(
                "grep, level, format, names, attempt, previous, with: not supported by a server that runs no workloads"
            )
        tree = resource.item(await read(context, resource))
        check(resource.kind, tree, options)
        if options.source in ABSENT[resource.kind]:
            return Response(200, TEXT, b"")
        pieces = self._logs.read(meta.uid(tree), options, partial(_is_over, context, resource, meta.uid(tree)))
        return Response(200, TEXT, LogStream(pieces))


async def _is_over(context: Context, resource: Resource, uid: str) -> bool:
    try:
        tree = resource.item(await read(context, resource))
    except NotFound:
        return True
    return meta.uid(tree) != uid or (tree.get("status") or {}).get("state") in _OVER
