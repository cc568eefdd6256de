"""A figure that no ratio to one decode + encode can tell: a rate, a size, a time beside the same of something plain.

A module of this package that offers `figures() -> Iterable[Figure]` takes part. Both sides of a figure are measured in
turns within one run, and the best round of each counts, for noise only ever takes away.
"""

from collections.abc import Callable
from typing import NamedTuple


class Figure(NamedTuple):
    """What was measured, in what unit, and beside what."""

    name: str
    value: float
    unit: str
    beside: str = ""
    baseline: float | None = None
    aim: str = ""
    met: bool | None = None

    def line(self) -> str:
        def number(value: float) -> str:
            return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

        beside = ""
        if self.baseline is not None:
            beside = f"{self.beside}: {number(self.baseline)}, {self.value / self.baseline:.2f}x"
        aim = f"  aim {self.aim}" if self.aim else ""
        mark = "" if self.met is None else ("  met" if self.met else "  missed")
        return f"{self.name:<66} {number(self.value):>10} {self.unit:<10} {beside}{aim}{mark}"


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """The best (least) of many rounds of each measure, one after the other in every round."""
    best = [float("inf")] * len(measures)
    for _ in range(rounds):
        for place, measure in enumerate(measures):
            best[place] = min(best[place], measure())
    return best
