"""Endpoints that programs add as subresources of custom resources, such as the log of a process.

The server authenticates, authorizes, counts and audits their requests like all others, and lists them in discovery.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from setpoint.server.message import Response
from setpoint.server.registry.resource import Resource, Subresource
from setpoint.server.request.context import Context

Verb: TypeAlias = Callable[[Context, Resource], Awaitable[Response]]


OwnVerb: TypeAlias = Callable[[Context], Awaitable[Response]]
# The right that the endpoint of an object requires: to get the object, to read its history, or a right of its own, to
# get `PLURAL.GROUP/ENDPOINT` in the group `setpoint.dev`.
EndpointRight: TypeAlias = Literal["object", "history", "own"]


class ObjectEndpoint(NamedTuple):
    """One additional endpoint below the objects of all stored resources, in the group `setpoint.dev`. The handlers also
    check the right to get the object."""

    name: str
    answers: Mapping[str, Verb]
    right: EndpointRight = "own"
    # The kinds of the objects; empty for all.
    kinds: Collection[str] = ()

    def serves(self, kind: str) -> bool:
        """Returns True if the objects of a kind have the endpoint."""
        return not self.kinds or kind in self.kinds


class Endpoint(NamedTuple):
    """One additional path of the group `setpoint.dev`: a collection, one of its items, or a path below an item."""

    resource: str
    answers: Mapping[str, OwnVerb]
    is_named: bool = False
    subresource: str = ""
    # True for a path that is also served in a namespace, and for one that continues after the subresource.
    in_namespaces: bool = False
    continues: bool = False


Endpoints: TypeAlias = Sequence[ObjectEndpoint | Endpoint]


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
