"""Serves `/`: the list of all paths that are not resources."""

from collections.abc import Callable, Iterable

from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.publish.openapi.definition_names import root_path
from setpoint.server.publish.read_only import check_method
from setpoint.server.request.context import Context, Services


class Index:
    """The index of paths."""

    def __init__(self, paths: Callable[[Services], Iterable[str]]) -> None:
        self._paths = paths

    async def respond(self, context: Context) -> Response | None:
        if context.request.path.strip("/"):
            return None
        check_method(context, head=False)
        found = {"/api", "/apis", *self._paths(context.services)}
        for gv in context.registry.group_versions:
            found.add(f"/{root_path(gv)}")
            if gv.group:
                found.add(f"/apis/{gv.group}")
        return await json_answer(context, {"paths": sorted(found)})
