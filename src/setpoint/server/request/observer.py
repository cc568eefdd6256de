"""Protocols of handlers for paths without a resource, and of observers of responses."""

from typing import Protocol

from setpoint.server.message import Response
from setpoint.server.request.context import Context


class Plain(Protocol):
    """Answers paths that are not resources: health, version, discovery, OpenAPI. Returns None for an unknown path."""

    async def respond(self, context: Context) -> Response | None: ...


class RequestObserver(Protocol):
    """Receives every answered request and returns the response, possibly wrapped (to follow a stream)."""

    def observe(self, context: Context, response: Response, seconds: float) -> Response: ...
