"""The values of CEL at run time.

bool, str, bytes, float and None represent themselves; int is CEL's int and `Uint` its uint; lists are Python lists (a
`SetList` or `MapList` for those types in the schema); maps are a `MapValue` or a view of a JSON object (see `views`).
Equality and order are CEL's, never Python's: `equal` and `compare`, not `==` and `<`.
"""

from collections.abc import Iterable, Iterator, Sized
from typing import Any

INT_MAX = 2**63 - 1
INT_MIN = -(2**63)
UINT_MAX = 2**64 - 1
SECOND = 10**9
# 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z, in nanoseconds from 1970.
TIMESTAMP_MIN = -62_135_596_800 * SECOND
TIMESTAMP_MAX = 253_402_300_800 * SECOND - 1


class EvaluationError(Exception):
    """An error of CEL: an ordinary result of an expression, which `&&` and `||` may absorb."""


class CostExceeded(Exception):  # noqa: N818 - the end of a budget, which nothing absorbs
    """The expression exceeds its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


# Larger than any budget allows: growing beyond these limits ends the evaluation, before memory or time run out.
MAX_ITEMS = 1_000_000
MAX_TEXT = 16 * 1024 * 1024
_MAX_STEPS = 500_000


class Steps:
    """Counts the steps of an operation on nested values, the number of which no size determines.

    An expression can create a small value that contains another many times, and so on: traversing such a value would
    take forever. The cost of such an operation covers only the first level.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MAX_STEPS

    @staticmethod
    def into(value: Sized, steps: "Steps | None") -> "Steps":
        """Returns the counter for entering a value: a new one at the first level, reduced by the value's size below."""
        if steps is None:
            return Steps()
        steps.left -= len(value)
        if steps.left < 0:
            raise CostExceeded
        return steps


def no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


# Represents a missing value, because None is CEL's null.
ABSENT: Any = _Absent()


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class _Moment:
    """A value in nanoseconds, which compares with values of its own type."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.nanos == self.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nanos})"


class Timestamp(_Moment):
    """A point in time, in nanoseconds from 1970; `offset` is that of the source text, in seconds."""

    __slots__ = ("offset",)

    def __init__(self, nanos: int, offset: int = 0) -> None:
        super().__init__(nanos)
        self.offset = offset


class Duration(_Moment):
    """A length of time, in nanoseconds."""

    __slots__ = ()


class Optional:
    """An optional value."""

    __slots__ = ("value",)

    def __init__(self, value: Any = ABSENT) -> None:
        self.value = value

    @property
    def present(self) -> bool:
        return self.value is not ABSENT


NONE = Optional()


class SetList(list[Any]):
    """A list of the schema's type `set`: its order does not matter, and `+` is a union."""

    __slots__ = ()


class MapList(list[Any]):
    """A list of the schema's type `map`: its order does not matter, and `+` replaces by key."""

    __slots__ = ("keys",)

    def __init__(self, items: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> tuple[Any, ...]:
        if not isinstance(item, Mapping):
            raise no_such_overload()
        return tuple(_hashable(item.find(key)) for key in self.keys)


class Mapping:
    """The interface of all maps, implemented by maps of expressions and views of JSON objects. The base is empty."""

    __slots__ = ()

    def find(self, _key: Any) -> Any:
        """Returns the value of a key, or ABSENT."""
        return ABSENT

    def keys(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def equals(self, other: "Mapping", steps: Steps) -> bool:
        if len(self) != len(other):
            return False
        for key in self.keys():
            found = other.find(key)
            if found is ABSENT or not equal(self.find(key), found, steps):
                return False
        return True


class MapValue(Mapping):
    """A map created by an expression; 1, 1u and 1.0 are the same key, true is another."""

    __slots__ = ("entries",)

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self.entries: dict[Any, tuple[Any, Any]] = {}
        for key, value in pairs:
            self.entries[_map_key(key)] = (key, value)

    def find(self, key: Any) -> Any:
        found = self.entries.get(_hashable(key))
        return ABSENT if found is None else found[1]

    def keys(self) -> Iterator[Any]:
        return (key for key, _ in self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def insert(self, key: Any, value: Any) -> None:
        hashed = _map_key(key)
        if hashed in self.entries:
            raise EvaluationError(f"insert failed: key {key_text(key)} already exists")
        self.entries[hashed] = (key, value)


def key_text(key: Any) -> str:
    """Formats a key for messages."""
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, float) and key.is_integer():
        return str(int(key))
    return str(key)


def _map_key(key: Any) -> Any:
    if not isinstance(key, bool | int | float | str):
        raise EvaluationError("unsupported key type")
    return _hashable(key)


def _hashable(value: Any) -> Any:
    """Returns a value as a dict key, such that equal keys of CEL are equal (Python considers True equal to 1)."""
    if isinstance(value, bool):
        return (bool, value)
    try:
        hash(value)
    except TypeError:
        return (list, repr(value))
    return value


_NUMBERS = frozenset((int, float, Uint))


def equal(a: Any, b: Any, steps: Steps | None = None) -> bool:
    """Returns True for values that CEL considers equal: numbers by value across their types, all others only within
    their kind."""
    kind = type(a)
    other = type(b)
    if kind is str or other is str or kind is bool or other is bool or a is None or b is None:
        return kind is other and bool(a == b)
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(a == b)
    if isinstance(a, list):
        if not isinstance(b, list):
            raise no_such_overload()
        return _lists_equal(a, b, Steps.into(a, steps))
    if isinstance(a, Mapping):
        if not isinstance(b, Mapping):
            raise no_such_overload()
        return a.equals(b, Steps.into(a, steps))
    if isinstance(a, Optional):
        if not isinstance(b, Optional) or a.present is not b.present:
            return False
        return not a.present or equal(a.value, b.value, steps)
    return kind is other and bool(a == b)


def _lists_equal(a: list[Any], b: list[Any], steps: Steps) -> bool:
    if len(a) != len(b):
        return False
    if isinstance(a, SetList):
        return {_hashable(item) for item in a} == {_hashable(item) for item in b}
    if isinstance(a, MapList):
        mine = {a.key_of(item): item for item in a}
        seen = set()
        for item in b:
            key = a.key_of(item)
            if key not in mine or not equal(mine[key], item, steps):
                return False
            seen.add(key)
        return len(seen) == len(mine)
    return all(equal(x, y, steps) for x, y in zip(a, b, strict=True))


def compare(a: Any, b: Any) -> int:
    """Returns -1, 0 or 1 for ordered values: numbers across their types, and strings, bytes, times, booleans."""
    kind = type(a)
    if kind in _NUMBERS and type(b) in _NUMBERS:
        if a != a or b != b:
            raise EvaluationError("NaN values cannot be ordered")
        return int(a > b) - int(a < b)
    if kind is not type(b):
        raise no_such_overload()
    if kind in (str, bytes, bool):
        return int(a > b) - int(a < b)
    if isinstance(a, _Moment):
        return int(a.nanos > b.nanos) - int(a.nanos < b.nanos)
    raise no_such_overload()


def add_lists(a: list[Any], b: list[Any]) -> list[Any]:
    """Returns `a + b`: joined, united or merged by key, by the type of the list on the left."""
    if len(a) + len(b) > MAX_ITEMS:
        raise CostExceeded
    if isinstance(a, SetList):
        seen = {_hashable(item) for item in a}
        return SetList([*a, *(item for item in b if _hashable(item) not in seen)])
    if isinstance(a, MapList):
        merged = list(a)
        positions = {a.key_of(item): position for position, item in enumerate(merged)}
        for item in b:
            position = positions.get(a.key_of(item))
            if position is None:
                merged.append(item)
            else:
                merged[position] = item
        return MapList(merged, a.keys)
    return [*a, *b]


def size_of(value: Any) -> int:
    """Returns the size of a value for the cost of operations; a value without a size counts as one."""
    if isinstance(value, str | bytes | list | Mapping):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return getattr(value, "cost_size", 1)
