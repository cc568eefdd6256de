"""Quantiles of histograms, computed from buckets by linear interpolation within a bucket."""

import math
from collections.abc import Sequence
from typing import Final

from setpoint.telemetry.records import Buckets, Distribution

_QUANTILES: Final = (0.5, 0.9, 0.99)
# Exponents beyond these have no finite power of two.
_LARGEST = 1023.0


def exponential_buckets(
    scale: int, zeros: int, offset: int, counts: Sequence[int], negative_offset: int, negative: Sequence[int]
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Returns the bounds and counts of an exponential histogram: the bounds of bucket i are base ** (offset + i), with
    the base 2 ** (2 ** -scale)."""
    bounds = [-_power(scale, negative_offset + place) for place in range(len(negative) - 1, -1, -1)]
    held = [*reversed(negative), zeros]
    bounds.append(_power(scale, offset) if counts else 0.0)
    for place, count in enumerate(counts, 1):
        bounds.append(_power(scale, offset + place))
        held.append(count)
    held.append(0)
    return tuple(bounds), tuple(held)


def _power(scale: int, place: int) -> float:
    exponent = math.ldexp(place, -scale) if -1000 < scale < 1000 else 0.0
    return math.pow(2.0, max(-_LARGEST, min(_LARGEST, exponent)))


def with_quantiles(found: Distribution, buckets: Buckets, before: Buckets | None) -> Distribution:
    """Returns a distribution with the quantiles of the observations since the previous buckets of the series. `before`
    is None for the first point, and for the points of a series with the temporality Delta."""
    counts = list(buckets.counts)
    if before is not None and before.bounds == buckets.bounds and before.start == buckets.start:
        since = [now - then for now, then in zip(counts, before.counts, strict=True)]
        # A smaller count is a restart that the start time does not show.
        if min(since, default=0) >= 0:
            counts = since
    p50, p90, p99 = (_quantile(each, buckets.bounds, counts) for each in _QUANTILES)
    return Distribution(found.count, found.sum, p50, p90, p99)


def _quantile(wanted: float, bounds: Sequence[float], counts: Sequence[int]) -> float | None:
    total = sum(counts)
    if total <= 0:
        return None
    if not bounds:
        return None
    rank, below = wanted * total, 0
    for place, count in enumerate(counts):
        if count and below + count >= rank:
            if place == len(bounds):
                return bounds[-1]  # the last bucket has no upper bound
            upper = bounds[place]
            lower = bounds[place - 1] if place else min(0.0, upper)
            return lower + (upper - lower) * (rank - below) / count
        below += count
    return bounds[-1]
