"""Handlers: which requests a change of an object means.

A handler looks at one state of an object and names the requests. Of an update both states are looked at, so that who
had an object and has it no longer hears of that, too.
"""

import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from setpoint.cache.entry import Held
from setpoint.client.kinds import Kind, kind_of
from setpoint.controller.request import Request
from setpoint.objects.gvk import GroupKind

# What a function may name requests with: as what they are, by a name, or by a namespace and a name.
Named: TypeAlias = "Request | str | tuple[str, str]"
Mapping: TypeAlias = Callable[[Any], "Iterable[Named] | Awaitable[Iterable[Named]]"]
# The requests, or something to wait for that gives them.
Requests: TypeAlias = "Iterable[Request] | Awaitable[Iterable[Request]]"


class Handler(Protocol):
    """Says what one state of an object means."""

    def __call__(self, held: Held[Any], /) -> Requests: ...


def for_object(held: Held[Any]) -> tuple[Request]:
    """The object itself."""
    return (Request(held.meta.name, held.meta.namespace),)


class Owners(NamedTuple):
    """The owners of one kind, whatever the version: the controlling one alone, unless all are asked for."""

    owner: GroupKind
    # Whether owners of that kind live in namespaces: then they live in that of the object.
    namespaced: bool = True
    controller_only: bool = True

    def __call__(self, held: Held[Any]) -> list[Request]:
        namespace = held.meta.namespace if self.namespaced else ""
        return [
            Request(reference.name, namespace)
            for reference in held.meta.owner_references or ()
            if reference.kind == self.owner.kind
            and reference.api_version.rpartition("/")[0] == self.owner.group
            and (reference.controller or not self.controller_only)
        ]


def for_owner(kind: Kind[Any], *, namespaced: bool = True, controller_only: bool = True) -> Owners:
    """A handler for the objects that belong to those of a kind."""
    return Owners(kind_of(kind).gvk.group_kind, namespaced, controller_only)


def mapped(function: Mapping) -> Handler:
    """A handler made of a function from an object to what is to be reconciled. It may wait, and it may fail: then the
    event is tried again."""

    def handle(held: Held[Any]) -> Requests:
        found = function(held.object)
        if inspect.isawaitable(found):
            return _Waited(found, held.meta.namespace)
        return [_request(each, held.meta.namespace) for each in found]

    return handle


class _Waited:
    """The requests that a function names later. Closing ends the function's coroutine, even one that has not begun."""

    __slots__ = ("_found", "_namespace")

    def __init__(self, found: Awaitable[Iterable[Named]], namespace: str) -> None:
        self._found = found
        self._namespace = namespace

    def __await__(self) -> Generator[Any, Any, list[Request]]:
        found = yield from self._found.__await__()
        return [_request(each, self._namespace) for each in found]

    def close(self) -> None:
        close = getattr(self._found, "close", None)  # futures have none, and need none
        if close is not None:
            close()


def _request(named: Named, namespace: str) -> Request:
    """What a function meant: a bare name is in the namespace of the object."""
    if isinstance(named, Request):
        return named
    if isinstance(named, str):
        where, slash, name = named.rpartition("/")
        return Request(name, where if slash else namespace)
    return Request(named[1], named[0])
