"""Runs the benchmarks and prints one table."""

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import bench
from bench.measure import Case, measure


def offers(offer: str, names: Iterable[str]) -> Iterator[Any]:
    """What the named modules of this package offer under a name, or all modules when none is named."""
    wanted = set(names)
    for module in sorted(pkgutil.iter_modules(bench.__path__), key=lambda found: found.name):
        if module.name == "__main__" or (wanted and module.name not in wanted):
            continue
        offered = getattr(importlib.import_module(f"bench.{module.name}"), offer, None)
        if offered is not None:
            yield from offered()


def main() -> None:
    names = sys.argv[1:]
    print_cases(offers("cases", names))
    for line in offers("lines", names):
        print(line, flush=True)
    for figure in offers("figures", names):
        print(figure.line(), flush=True)


def print_cases(cases: Iterable[Case]) -> None:
    heading = f"{'what':<56} {'µs':>9} {'decode+encode µs':>17} {'ratio':>8} {'aim':>6}"
    for number, case in enumerate(cases):
        if number == 0:
            print(heading)
        found = measure(case)
        aim = "" if case.aim is None else f"{case.aim:g}x"
        mark = "" if case.aim is None or found.ratio <= case.aim else "  over"
        print(
            f"{case.name:<56} {found.seconds * 1e6:>9.2f} {found.baseline * 1e6:>17.2f} "
            f"{found.ratio:>7.2f}x {aim:>6}{mark}"
        )


if __name__ == "__main__":
    main()
