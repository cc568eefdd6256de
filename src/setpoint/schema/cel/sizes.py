"""Ranges of sizes and costs, from the minimum to the maximum, saturating at 64 bits."""

import math
from typing import NamedTuple

LIMIT = 2**64 - 1


def add(a: int, b: int) -> int:
    return min(a + b, LIMIT)


def multiply(a: int, b: int) -> int:
    return min(a * b, LIMIT)


def scale(a: int, factor: float) -> int:
    product = math.ceil(float(a) * factor)
    return min(product, LIMIT)


class Range(NamedTuple):
    """The minimum and the maximum of a quantity."""

    min: int
    max: int

    def plus(self, other: "Range") -> "Range":
        return Range(add(self.min, other.min), add(self.max, other.max))

    def times(self, other: "Range") -> "Range":
        return Range(multiply(self.min, other.min), multiply(self.max, other.max))

    def scaled(self, factor: float) -> "Range":
        return Range(scale(self.min, factor), scale(self.max, factor))

    def union(self, other: "Range") -> "Range":
        return Range(min(self.min, other.min), max(self.max, other.max))


class Largest(NamedTuple):
    """The longest string and the largest list or map in some data, and the total number of items of all of them."""

    text: int
    items: int
    total: int

    def rounded(self) -> "Largest":
        """Returns all sizes rounded up to the next power of two, to limit the number of distinct values."""
        return Largest(*(1 << max(size - 1, 0).bit_length() for size in self))


def exactly(value: int) -> Range:
    return Range(value, value)


ZERO = exactly(0)
ONE = exactly(1)
UNKNOWN = Range(0, LIMIT)
UNBOUNDED = Largest(LIMIT, LIMIT, LIMIT)
