"""Workloads beside other tools that run services (`comparison`), and proxies of Services beside socat (`proxying`)."""

from collections.abc import Iterator

from bench.figure import Figure
from bench.workloads import comparison, proxying


def lines() -> Iterator[str]:
    return comparison.lines()


def figures() -> Iterator[Figure]:
    return proxying.figures()
