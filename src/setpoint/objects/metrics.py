"""Measurements: what a part of a program tells `/metrics` about itself, and the text format of Prometheus for it.

There is no registry: who serves the page asks the parts it has been given, each time.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol, runtime_checkable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Histogram:
    """How many took how long."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        # As many as fit into each bucket but not into the one before; the last is for the rest.
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.buckets)


class MetricFamily(NamedTuple):
    """One measurement by its labels: a counter, a gauge or a histogram."""

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float | Histogram]]


@runtime_checkable
class Collector(Protocol):
    """Who has something to tell."""

    def families(self) -> Iterable[MetricFamily]: ...


def exposition(families: Iterable[MetricFamily]) -> Iterator[str]:
    """The lines of the page, without their ends."""
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
    # A server has thousands of histograms with a score of lines each: what they share is written once.
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
