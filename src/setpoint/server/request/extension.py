"""Endpoints that programs add as subresources of custom resources, such as the log of a process.

The server authenticates, authorizes, counts and audits their requests like all others, and lists them in discovery.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource, Subresource
from setpoint.server.request.context import Context

Verb: TypeAlias = Callable[[Context, Resource], Awaitable[Response]]


class Extension(NamedTuple):
    """One additional subresource of a resource."""

    group: str
    resource: str
    name: str
    # The handlers by verb. They raise APIError as the built-in verbs do.
    answers: Mapping[str, Verb]


def subresources(extensions: Sequence[Extension], group: str, resource: str) -> dict[str, Subresource]:
    """Returns the additional subresources of a resource, by name."""
    return {
        each.name: Subresource(each.name, tuple(each.answers), answers=each.answers)
        for each in extensions
        if (each.group, each.resource) == (group, resource)
    }
