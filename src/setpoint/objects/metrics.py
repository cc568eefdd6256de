"""Metrics: the measurements that a component exports on `/metrics`, and the text format of Prometheus.

There is no registry: the server of the page queries its collectors for every request.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol, runtime_checkable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Histogram:
    """A histogram of observed values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        # The observations in each bucket but not in the one before; the last bucket has the rest.
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.buckets)


class MetricFamily(NamedTuple):
    """One metric by its labels: a counter, a gauge or a histogram."""

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float | Histogram]]


@runtime_checkable
class Collector(Protocol):
    """A component that exports metrics."""

    def families(self) -> Iterable[MetricFamily]: ...


def exposition(families: Iterable[MetricFamily]) -> Iterator[str]:
    """Yields the lines of the page, without line ends."""
    for name, kind, text, samples in families:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        for labels, value in samples:
            shown = _shown(labels)
            if isinstance(value, Histogram):
                yield from _histogram_lines(name, shown, value)
            else:
                yield _line(name, shown, value)


def _histogram_lines(name: str, shown: str, histogram: Histogram) -> Iterator[str]:
    # A server has thousands of histograms with about twenty lines each: their common part is formatted once.
    before = f"{name}_bucket{{{shown}{',' if shown else ''}le="
    count = 0
    for bound, found in zip((*histogram.bounds, inf), histogram.buckets, strict=True):
        count += found
        yield f'{before}"{"+Inf" if bound == inf else f"{bound:g}"}"}} {count}'
    yield _line(f"{name}_sum", shown, histogram.sum)
    yield _line(f"{name}_count", shown, count)


def _shown(labels: Mapping[str, str]) -> str:
    return ",".join([f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items()])


def _line(name: str, shown: str, value: float) -> str:
    return f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"
