"""The subresources that are not simply the object again: what answers for each, by verb."""

from collections.abc import Awaitable, Callable, Mapping

from setpoint.server.context import Context
from setpoint.server.exchange import Response
from setpoint.server.resource import Resource

Verb = Callable[[Context, Resource], Awaitable[Response]]

SUBRESOURCES: Mapping[str, Mapping[str, Verb]] = {}
