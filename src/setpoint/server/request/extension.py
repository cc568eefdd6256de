"""Endpoints that others add below the objects of custom resources, such as the log of a process.

The server authenticates, authorizes, counts and audits their requests as all others, and tells of them in discovery.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource, Subresource
from setpoint.server.request.context import Context

Verb: TypeAlias = Callable[[Context, Resource], Awaitable[Response]]


class Extension(NamedTuple):
    """One endpoint below the objects of a resource."""

    group: str
    resource: str
    name: str
    # What answers, by verb. It raises APIError as the server's own verbs do.
    answers: Mapping[str, Verb]


def subresources(extensions: Sequence[Extension], group: str, resource: str) -> dict[str, Subresource]:
    """Those of a resource."""
    return {
        each.name: Subresource(each.name, tuple(each.answers), answers=each.answers)
        for each in extensions
        if (each.group, each.resource) == (group, resource)
    }
