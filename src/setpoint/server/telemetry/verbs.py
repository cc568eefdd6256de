"""The verbs of telemetry in the routing table. Their implementation is imported at the first request."""

from collections.abc import Mapping
from typing import Final

from setpoint.server.message import Response
from setpoint.server.request.context import Context
from setpoint.server.request.extension import OwnVerb

# The path below which the receiver of exporters answers.
RECEIVER_PATH: Final = "/otlp/"


async def _answer(context: Context) -> Response:
    from setpoint.server.telemetry.endpoints import answer

    return await answer(context)


VERBS: Mapping[str, OwnVerb] = dict.fromkeys(("get", "list", "watch"), _answer)
