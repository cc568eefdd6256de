"""`GET …/executables/name/log` at a server whose controllers are a process of their own: from the files they write.

Both have to know one folder. What outlives its controllers, and what a container printed before they knew it, lies
elsewhere, and is not shown.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from setpoint.objects import meta
from setpoint.objects.clock import Clock
from setpoint.objects.errors import NotFound, ServiceUnavailable
from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource
from setpoint.server.request.context import Context
from setpoint.server.request.extension import Extension
from setpoint.server.verbs.get import read
from setpoint.workload.kinds.api_names import GROUP
from setpoint.workload.kinds.container import DONE
from setpoint.workload.kinds.executable import FINAL
from setpoint.workload.logs.external_log import LogsElsewhere
from setpoint.workload.logs.options import parse
from setpoint.workload.subresources.log import NAME, SOURCES, LogStream, check

_OVER = frozenset({*FINAL, *DONE})


class LogElsewhere:
    """Answers for all kinds that have a log. Without a folder it says what is missing."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._logs = LogsElsewhere(folder, clock) if folder is not None else None

    @property
    def extensions(self) -> Sequence[Extension]:
        """What the server is told of."""
        return [Extension(GROUP, f"{kind.lower()}s", NAME, {"get": self.get}) for kind in SOURCES]

    async def get(self, context: Context, resource: Resource) -> Response:
        """The log that a request asks for. Raises BadRequest, NotFound and ServiceUnavailable."""
        if self._logs is None:
            raise ServiceUnavailable(
                "the logs are where the controllers are: start both with the same folder in DCP_SESSION_FOLDER"
            )
        options = parse({name: values[-1] for name, values in context.query.items()})
        tree = resource.item(await read(context, resource))
        check(resource.kind, tree, options)
        pieces = self._logs.read(meta.uid(tree), options, partial(_is_over, context, resource, meta.uid(tree)))
        return Response(200, "text/plain; charset=utf-8", LogStream(pieces))


async def _is_over(context: Context, resource: Resource, uid: str) -> bool:
    try:
        tree = resource.item(await read(context, resource))
    except NotFound:
        return True
    return meta.uid(tree) != uid or (tree.get("status") or {}).get("state") in _OVER
