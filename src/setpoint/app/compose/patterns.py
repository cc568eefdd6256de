"""Tables of values for paths with wildcards, such as `services.*.ports.[]`; traversed along with a tree."""

from collections.abc import Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Pattern(Generic[T]):
    """A position in a table: the value of the path up to here, and the positions of its keys. `*` is any key or index,
    `[]` any index."""

    __slots__ = ("_any", "_names", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        self._names: dict[str, Pattern[T]] = {}
        self._any: Pattern[T] | None = None

    def key(self, name: str) -> "Pattern[T] | None":
        """Returns the position of a key."""
        return self._names.get(name, self._any)

    def index(self) -> "Pattern[T] | None":
        """Returns the position of the items of a list."""
        return self._names.get("[]", self._any)

    def _add(self, parts: list[str], value: T) -> None:
        if not parts:
            self.value = value
            return
        first, *rest = parts
        if first == "*":
            if self._any is None:
                self._any = Pattern()
            targets = [self._any, *self._names.values()]
        else:
            targets = [self._names.setdefault(first, Pattern())]
        for target in targets:
            target._add(rest, value)


def table(values: Mapping[str, T]) -> Pattern[T]:
    """Returns the table of the given paths. A name takes precedence over `*` in the same position."""
    root: Pattern[T] = Pattern()
    # Names come first, so that wildcards also reach below them.
    for path in sorted(values, key=lambda path: path.count("*")):
        root._add(path.split("."), values[path])
    return root


def spread(prefixes: tuple[str, ...], values: Mapping[str, T]) -> dict[str, T]:
    """Returns the values for all prefixes."""
    return {f"{prefix}.{path}": value for prefix in prefixes for path, value in values.items()}
