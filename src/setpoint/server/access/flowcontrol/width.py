"""The width of a request: the number of seats, by kube-apiserver's rules.

A list takes one seat for every 100 objects read, or for every 100,000 bytes if that is more, and at most ten seats. A
list with a selector that must examine every object reads the whole collection. A watch with initial events takes as
many seats as the list of the same objects. Every other request takes one seat. The numbers of objects and bytes are
those of the last list of the same collection.
"""

from typing import NamedTuple

from setpoint.server.request.context import Context

_OBJECTS, _BYTES = 100, 100_000
MOST = 10
# The number of collections whose size is cached.
_REMEMBERED = 4096
# A write with more watches than this holds its seats until all watches are notified, one seat for each group of this
# size.
WATCHES = 10
_EXACT = "metadata.name="


class Size(NamedTuple):
    """The number of objects in a collection, and their average size in bytes."""

    objects: int
    average: float = 0.0


class Sizes:
    """The known sizes of collections."""

    def __init__(self) -> None:
        self._sizes: dict[str, Size] = {}

    def of(self, scope: str) -> Size | None:
        return self._sizes.get(scope)

    def record(self, scope: str, objects: int, average: float) -> None:
        """Records the size of a collection. An average of 0, for reads that did not measure bytes, keeps the known
        average."""
        known = self._sizes.pop(scope, None)
        if known is None and len(self._sizes) >= _REMEMBERED:
            del self._sizes[next(iter(self._sizes))]
        self._sizes[scope] = Size(objects, average or (known.average if known is not None else 0.0))


def scope_of(context: Context) -> str:
    """Returns the key prefix of the collection that a request reads, or an empty string if the request reads at most
    one object."""
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
    """Returns the number of seats of a request that reads a collection of the given size."""
    objects = size.objects
    query = context.request.query
    if "limit=" in query and "Selector=" not in query and context.parameter("resourceVersion") != "0":
        limit = context.parameter("limit")
        if limit.isdecimal() and int(limit[:9]) > 0:
            objects = min(objects, int(limit[:9]))
    return width(objects, objects * size.average)


def width(objects: int, size: float) -> int:
    """Returns the number of seats for a number of objects and their total bytes."""
    return max(1, min(MOST, max(-(-objects // _OBJECTS), int(-(-size // _BYTES)))))
