"""Workloads beside DCP (`dcp_comparison`) and beside other tools that run services (`comparison`), and proxies of
Services beside socat (`proxying`)."""

from collections.abc import Iterator

from bench.figure import Figure
from bench.workloads import comparison, dcp_comparison, proxying


def lines() -> Iterator[str]:
    yield from dcp_comparison.lines()
    yield from comparison.lines()


def figures() -> Iterator[Figure]:
    return proxying.figures()
