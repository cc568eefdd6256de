"""Trees of Compose files that remember the file, line and column of each value."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str, int, int]

NOWHERE: Place = ("", 0, 0)


class Map(dict[str, Any]):
    """A mapping, with the places of its keys. Keys that the resolver added have no place."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}

    def put(self, key: str, value: Any, place: Place | None) -> None:
        """Sets a value with its place."""
        self[key] = value
        if place is not None:
            self.places[key] = place


class Seq(list[Any]):
    """A list, with the places of its items."""

    __slots__ = ("places",)

    def __init__(self, items: Iterable[Any] = (), places: Iterable[Place] = ()) -> None:
        super().__init__(items)
        self.places: list[Place] = list(places)

    def add(self, value: Any, place: Place) -> None:
        """Appends a value with its place."""
        self.append(value)
        self.places.append(place)

    def place(self, index: int) -> Place:
        """Returns the place of an item, or no place for an item that the resolver added."""
        return self.places[index] if index < len(self.places) else NOWHERE


def clone(value: Any) -> Any:
    """Returns a deep copy, sharing only scalars and places."""
    if isinstance(value, dict):
        made = Map()
        if isinstance(value, Map):
            made.places = value.places.copy()
        for key, inner in value.items():
            made[key] = clone(inner) if isinstance(inner, dict | list) else inner
        return made
    if isinstance(value, list):
        items = [clone(inner) if isinstance(inner, dict | list) else inner for inner in value]
        return Seq(items, value.places if isinstance(value, Seq) else ())
    return value


def place_of(container: Any, key: str | int) -> Place:
    """Returns the place of a key or an index, or no place if the resolver added the value."""
    if isinstance(container, Map):
        return container.places.get(str(key), NOWHERE)
    if isinstance(container, Seq) and isinstance(key, int):
        return container.place(key)
    return NOWHERE


def items_of(value: Any) -> list[tuple[Any, Place]]:
    """Returns the items of a list with their places."""
    return [(item, place_of(value, index)) for index, item in enumerate(value)]


def locate(root: Any, start: Place) -> Callable[[Sequence[str | int]], Place]:
    """Returns the function for the place of a path in a tree: the place of the nearest part that has one."""

    def find(parts: Sequence[str | int]) -> Place:
        value, place, at = root, start, 0
        while at < len(parts):
            used, key = _step(value, parts[at:])
            if not used:
                break
            found = place_of(value, key)
            place = found if found[1] else place
            value, at = value[key], at + used
        return place

    return find


def _step(value: Any, parts: Sequence[str | int]) -> tuple[int, Any]:
    """Returns the number of parts that name a value in a container, and its key. Names may contain dots; a variable in
    a list of `NAME=value` has the name as its key."""
    first = parts[0]
    if isinstance(value, list):
        if isinstance(first, int):
            return (1, first) if first < len(value) else (0, 0)
        for index, item in enumerate(value):
            if item == first or (isinstance(item, str) and item.startswith(f"{first}=")):
                return 1, index
        return 0, 0
    if not isinstance(value, dict):
        return 0, 0
    name = ""
    for count, part in enumerate(parts, 1):
        name = f"{name}.{part}" if name else str(part)
        if name in value:
            return count, name
    return 0, 0


def path_text(parts: Sequence[str | int]) -> str:
    """Formats a path: `services.web.ports[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")
