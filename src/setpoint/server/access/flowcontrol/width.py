"""The number of seats that a request takes: its width, by the same rules as the real server's.

A list takes one seat for each 100 objects that it reads, or for each 100,000 bytes of them, whichever are more, and ten
at most. A selector that has to look at every object reads all of them. A watch that begins with its initial events
takes as many as the list of the same objects. Every other request takes one. The numbers of objects and bytes are those
that the last list of the same collection found.
"""

from typing import NamedTuple

from setpoint.server.request.context import Context

_OBJECTS, _BYTES = 100, 100_000
MOST = 10
# Collections whose size is remembered.
_REMEMBERED = 4096
# A write that more watches are told of than this holds its seats until they are, and a seat for so many of them.
WATCHES = 10
_EXACT = "metadata.name="


class Size(NamedTuple):
    """The number of objects in a collection, and the bytes that one of them has on average."""

    objects: int
    average: float = 0.0


class Sizes:
    """The sizes of collections, as far as they are known."""

    def __init__(self) -> None:
        self._sizes: dict[str, Size] = {}

    def of(self, scope: str) -> Size | None:
        return self._sizes.get(scope)

    def learn(self, scope: str, objects: int, average: float) -> None:
        """Remembers the size of a collection. A part of one may be read without its bytes: the average stays."""
        known = self._sizes.pop(scope, None)
        if known is None and len(self._sizes) >= _REMEMBERED:
            del self._sizes[next(iter(self._sizes))]
        self._sizes[scope] = Size(objects, average or (known.average if known is not None else 0.0))


def scope_of(context: Context) -> str:
    """The prefix of the objects that a request reads many of; empty where it reads one, or none."""
    info = context.info
    if not info.is_resource or info.name or info.subresource:
        return ""
    if info.verb == "watch":
        initial = context.parameter("sendInitialEvents")
        if initial != "true" and (initial or context.parameter("resourceVersion") not in ("", "0")):
            return ""
    elif info.verb not in ("list", "deletecollection"):
        return ""
    exact = context.parameter("fieldSelector") if "fieldSelector" in context.request.query else ""
    if _EXACT in exact and info.namespace:
        return ""
    resource = context.registry.resource(info.group, info.version, info.resource)
    return resource.storage.scope(info.namespace) if resource is not None else ""


def width_of(context: Context, size: Size) -> int:
    """The seats of a request that reads a collection of that size."""
    objects = size.objects
    query = context.request.query
    if "limit=" in query and "Selector=" not in query and context.parameter("resourceVersion") != "0":
        limit = context.parameter("limit")
        if limit.isdecimal() and int(limit[:9]) > 0:
            objects = min(objects, int(limit[:9]))
    return width(objects, objects * size.average)


def width(objects: int, size: float) -> int:
    """The seats of so many objects, with so many bytes."""
    return max(1, min(MOST, max(-(-objects // _OBJECTS), int(-(-size // _BYTES)))))
