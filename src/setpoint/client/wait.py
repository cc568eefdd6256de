"""Waits for a condition of an object by watching the object. The wait continues across failed watches."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Protocol, TypeAlias, Unpack

from setpoint.client.kinds import KindRef, tree_of
from setpoint.client.list_result import Listing
from setpoint.client.mapper import Mapper
from setpoint.client.options import ListOptions, WatchOptions
from setpoint.client.transport import TransportError
from setpoint.client.watch import BOOKMARK, DELETED, WatchEvent
from setpoint.objects.clock import Clock
from setpoint.objects.clock import timeout as within
from setpoint.objects.errors import (
    Expired,
    Gone,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from setpoint.objects.tree import Json

Predicate: TypeAlias = Callable[[Any], bool]
Until: TypeAlias = str | Predicate

# Transient errors: the list and watch are repeated after an increasing delay.
_PASSING = (
    TransportError,
    Expired,
    Gone,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
_FIRST_SECONDS, _MOST_SECONDS = 0.1, 5.0
# The timeout of one watch.
_WATCH_SECONDS = 300.0


class Reader(Protocol):
    """A client that lists and watches."""

    @property
    def clock(self) -> Clock: ...

    @property
    def mapper(self) -> Mapper: ...

    async def list(self, kind: KindRef, namespace: str = "", **how: Unpack[ListOptions]) -> Listing[Any]: ...

    def watch(
        self, kind: KindRef, namespace: str = "", **how: Unpack[WatchOptions]
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[Any]]]: ...


async def wait_for(
    client: Reader, kind: KindRef, name: str, namespace: str, until: Until, timeout: float | None
) -> Any:
    """Returns the object when the condition is met, or None if the object does not exist. Raises TimeoutError, and
    errors that are not transient."""
    wanted = read_until(until)
    last: list[str] = []
    if timeout is None:
        return await _wait(client, kind, name, namespace, wanted, last)
    try:
        async with within(client.clock, timeout):
            return await _wait(client, kind, name, namespace, wanted, last)
    except TimeoutError:
        where = f"{namespace}/{name}" if namespace else name
        what = until if isinstance(until, str) else getattr(until, "__name__", "as expected")
        why = f": {last[-1]}" if last else ""
        raise TimeoutError(f"{kind} {where} was not {what} within {timeout:g} s{why}") from None


async def _wait(client: Reader, kind: KindRef, name: str, namespace: str, wanted: Predicate, last: list[str]) -> Any:
    pause = _FIRST_SECONDS
    while True:
        try:
            async with aclosing(_states(client, kind, name, namespace)) as states:
                async for obj in states:
                    pause = _FIRST_SECONDS
                    if wanted(obj):
                        client.mapper.invalidate_missing(kind.gvk)
                        return obj
        except _PASSING as error:
            last[:] = [str(error)]
            await client.clock.sleep(pause)
            pause = min(pause * 2, _MOST_SECONDS)


async def _states(client: Reader, kind: KindRef, name: str, namespace: str) -> AsyncGenerator[Any, None]:
    """Yields the current object, then each change; None means that the object does not exist. Raises the errors of list
    and watch."""
    fields = {"metadata.name": name}
    found = await client.list(kind, namespace, fields=fields)
    yield found.items[0] if found.items else None
    version = found.resource_version
    while True:
        async with client.watch(
            kind, namespace, fields=fields, resource_version=version, timeout=_WATCH_SECONDS
        ) as events:
            async for event in events:
                version = event.resource_version or version
                if event.type != BOOKMARK:
                    yield None if event.type == DELETED else event.object
        # Pause, in case the server ends every watch at once.
        await client.clock.sleep(_FIRST_SECONDS)


def read_until(until: Until) -> Predicate:
    """Parses a condition. Raises ValueError."""
    if not isinstance(until, str):
        return until
    word, _, rest = until.partition("=")
    if word in ("create", "delete") and not rest:
        return (lambda obj: obj is not None) if word == "create" else (lambda obj: obj is None)
    if word == "condition" and rest:
        name, _, status = rest.partition("=")
        return lambda obj: obj is not None and _has_condition(tree_of(obj), name, status or "True")
    if word == "jsonpath" and rest:
        return _by_path(rest)
    raise ValueError(
        f"invalid condition {until!r}: expected create, delete, condition=NAME[=STATUS] or jsonpath={{PATH}}[=VALUE]"
    )


def _has_condition(tree: Json, name: str, wanted: str) -> bool:
    status = tree.get("status")
    for condition in (status.get("conditions") if isinstance(status, dict) else None) or ():
        if str(condition.get("type", "")).lower() != name.lower():
            continue
        seen, generation = condition.get("observedGeneration"), tree.get("metadata", {}).get("generation")
        if isinstance(seen, int) and isinstance(generation, int) and seen < generation:
            return False  # the condition refers to an older generation
        return str(condition.get("status", "")).lower() == wanted.lower()
    return False


def _by_path(text: str) -> Predicate:
    from setpoint.schema.jsonpath import JSONPath, JSONPathError  # imported here: few callers wait for a path

    path, _, value = text.partition("}=") if text.startswith("{") else text.partition("=")
    parsed = JSONPath(path.strip("{}"))

    def matches(obj: Any) -> bool:
        if obj is None:
            return False
        try:
            found = parsed.find(tree_of(obj))
        except JSONPathError:
            return False  # the field may appear later
        if not value:
            return bool(found)
        return any((str(each).lower() if isinstance(each, bool) else str(each)) == value for each in found)

    return matches
