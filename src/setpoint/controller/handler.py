"""Handlers: map a changed object to the requests to reconcile.

A handler receives one state of an object and returns requests. For an update the handler is called with both states, so
that a former owner is reconciled, too.
"""

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from setpoint.cache.entry import CachedObject
from setpoint.client.kinds import Kind, kind_of
from setpoint.controller.request import Request
from setpoint.objects.gvk import GroupKind

# The forms in which a mapping function may return a request: a Request, a name, or a namespace and a name.
Named: TypeAlias = "Request | str | tuple[str, str]"
Mapping: TypeAlias = Callable[[Any], "Iterable[Named] | Awaitable[Iterable[Named]]"]
# The requests, or an awaitable of the requests.
Requests: TypeAlias = "Iterable[Request] | Awaitable[Iterable[Request]]"


class EventHandler(Protocol):
    """Maps one state of an object to requests."""

    def __call__(self, entry: CachedObject[Any], /) -> Requests: ...


def for_object(entry: CachedObject[Any]) -> tuple[Request]:
    """Returns the request for the object itself."""
    return (Request(entry.meta.name, entry.meta.namespace),)


class Owners(NamedTuple):
    """Maps an object to its owners of one kind, in any version: the controlling owner, or all owners."""

    owner: GroupKind
    # True if the kind of the owners is namespaced: then they are in the namespace of the object.
    namespaced: bool = True
    controller_only: bool = True

    def __call__(self, entry: CachedObject[Any]) -> list[Request]:
        namespace = entry.meta.namespace if self.namespaced else ""
        return [
            Request(reference.name, namespace)
            for reference in entry.meta.owner_references or ()
            if reference.kind == self.owner.kind
            and reference.api_version.rpartition("/")[0] == self.owner.group
            and (reference.controller or not self.controller_only)
        ]


def for_owner(kind: Kind[Any], *, namespaced: bool = True, controller_only: bool = True) -> Owners:
    """Returns a handler that maps objects to their owners of a kind.

    Watch("v1/Secret", for_owner(Website))
    """
    return Owners(kind_of(kind).gvk.group_kind, namespaced, controller_only)


def mapped(function: Mapping) -> EventHandler:
    """Returns a handler that calls a function to map an object to requests.

    The function may be async. If the function raises, the event is retried.

        Watch("v1/ConfigMap", mapped(lambda config: [config["metadata"]["labels"]["website"]]))
    """

    def handle(entry: CachedObject[Any]) -> Requests:
        found = function(entry.object)
        if inspect.isawaitable(found):
            return _PendingRequests(found, entry.meta.namespace)
        return [_request(each, entry.meta.namespace) for each in found]

    return handle


class _PendingRequests:
    """The requests of an async function. `close` closes its coroutine, also one that has not started."""

    __slots__ = ("_found", "_namespace")

    def __init__(self, found: Awaitable[Iterable[Named]], namespace: str) -> None:
        self._found = found
        self._namespace = namespace

    def __await__(self) -> Generator[Any, Any, list[Request]]:
        found = yield from self._found.__await__()
        return [_request(each, self._namespace) for each in found]

    def close(self) -> None:
        close = getattr(self._found, "close", None)  # futures have no close method, and need none
        if close is not None:
            close()


def _request(named: Named, namespace: str) -> Request:
    """Converts a returned value to a Request. A bare name is in the namespace of the object."""
    if isinstance(named, Request):
        return named
    if isinstance(named, str):
        where, slash, name = named.rpartition("/")
        return Request(name, where if slash else namespace)
    return Request(named[1], named[0])
