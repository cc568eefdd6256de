"""Sets of completion indexes as sorted intervals, in the form of a job's status: `1,3-5,7`."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain


class Indexes:
    """An immutable set of indexes. Its size in memory depends on the number of intervals, not of indexes."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        """`intervals` have a first and a last index, in any order."""
        found: list[tuple[int, int]] = []
        for first, last in sorted(intervals):
            if found and first <= found[-1][1] + 1:
                found[-1] = found[-1][0], max(found[-1][1], last)
            else:
                found.append((first, last))
        self.intervals = tuple(found)

    @classmethod
    def of(cls, numbers: Iterable[int]) -> "Indexes":
        """Returns the set of some indexes."""
        return cls((number, number) for number in numbers)

    @classmethod
    def parse(cls, text: str, completions: int) -> "Indexes":
        """Parses the form of the status. Indexes beyond the completions are dropped, and invalid intervals ignored."""
        found = []
        for part in text.split(",") if text else ():
            first, dash, last = part.partition("-")
            if not _is_number(first) or (dash and not _is_number(last)):
                continue
            if int(first) >= completions:
                break
            found.append((int(first), min(int(last), completions - 1) if dash else int(first)))
        return cls(found)

    def __or__(self, other: "Indexes") -> "Indexes":
        return Indexes(chain(self.intervals, other.intervals))

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def __contains__(self, index: object) -> bool:
        assert isinstance(index, int)
        at = bisect_left(self.intervals, index, key=lambda interval: interval[1])
        return at < len(self.intervals) and self.intervals[at][0] <= index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Indexes) and self.intervals == other.intervals

    __hash__ = None  # type: ignore[assignment]

    def overlap(self, other: "Indexes") -> int:
        """Returns the number of indexes in both sets."""
        return len(self) + len(other) - len(self | other)

    def missing(self, most: int, completions: int) -> list[int]:
        """Returns the first indexes below the completions that are not in the set."""
        found: list[int] = []
        start = 0
        for first, last in (*self.intervals, (completions, completions)):
            found += range(start, min(first, completions, start + most - len(found)))
            start = last + 1
        return found

    def __str__(self) -> str:
        return ",".join(map(_text, self.intervals))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _text(interval: tuple[int, int]) -> str:
    first, last = interval
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"
