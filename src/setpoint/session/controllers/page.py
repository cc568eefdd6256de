"""`GET /admin/controllers`: the status of the controllers of an app and of the control plane.

    {"controllers": [{"name": …, "kind": …, "module": …, "queue": 0, …}], "builtIn": […], "logs": ["shop"]}

`GET /admin/controllers/NAME/log` returns the log of one of the app's controllers, with the parameters of other logs.
"""

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import msgspec

from setpoint.objects.errors import MethodNotAllowed, NotFound
from setpoint.server.codec.response import json_answer
from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.session.controllers.status_query import PATH

if TYPE_CHECKING:
    from setpoint.controller.overview import Row
    from setpoint.plane import ControlPlane
    from setpoint.session.controllers.hosted_controllers import HostedControllers

LOG = "log"


class ControllersPage:
    """Serves the page of a control plane. The plane is set later, because pages are created before planes."""

    def __init__(self) -> None:
        self.plane: ControlPlane | None = None
        self.hosted: HostedControllers | None = None

    async def respond(self, context: Context) -> Response | None:
        """Answers requests to the page. Raises MethodNotAllowed and NotFound."""
        path = context.request.path.rstrip("/")
        if path != PATH and not path.startswith(f"{PATH}/"):
            return None
        if context.request.method != "GET":
            raise MethodNotAllowed.method()
        if path == PATH:
            return await json_answer(context, await self._status())
        name, _, below = path.removeprefix(f"{PATH}/").partition("/")
        return self._log(context, unquote(name)) if below == LOG else None

    async def _status(self) -> dict[str, object]:
        from setpoint.controller.overview import overview  # not needed until the server is ready

        hosted = await self.hosted.report() if self.hosted is not None else []
        own = [overview(each) for each in self.plane.controllers] if self.plane is not None else []
        return {
            "controllers": [_tree(row) for row in hosted],
            "builtIn": [_tree(row) for row in own],
            "logs": self.hosted.logged() if self.hosted is not None else [],
        }

    def _log(self, context: Context, name: str) -> Response:
        from setpoint.server.verbs.text_stream import TextStream
        from setpoint.workload.logs.options import parse

        known = self.hosted.logged() if self.hosted is not None else []
        if self.hosted is None or name not in known:
            hint = f"available logs: {', '.join(known)}" if known else "there are no logs"
            raise NotFound(f"controller {name!r} has no log; {hint}")
        given = {parameter: values[-1] for parameter, values in context.query.items()}
        options = parse({"source": "all", **given})
        return Response(
            200, "text/plain; charset=utf-8", TextStream(self.hosted.logs.read(quote(name, safe=""), options))
        )


def _tree(row: "Row") -> object:
    return msgspec.to_builtins(row)
