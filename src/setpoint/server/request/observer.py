"""Protocols of those that answer for paths without a resource, and of those that are told of answers."""

from typing import Protocol

from setpoint.server.message import Response
from setpoint.server.request.context import Context


class Plain(Protocol):
    """Answers for paths that are no resources: health, version, discovery, OpenAPI. None: there is no such path."""

    async def respond(self, context: Context) -> Response | None: ...


class Observer(Protocol):
    """Is told of every answered request, and hands the answer on, which it may wrap (a stream, to follow it)."""

    def observe(self, context: Context, response: Response, seconds: float) -> Response: ...
