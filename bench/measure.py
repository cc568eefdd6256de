"""How a case is measured: CPU time, best of many, in turns with its baseline.

On a busy machine absolute times say little. A case therefore runs in short rounds that alternate with rounds of its
baseline (one msgspec decode + encode of the same JSON), and the best round of each is compared: noise only ever adds.
"""

import gc
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

ROUNDS = 40
ROUND_SECONDS = 0.01
BATCH = 8


class Case(NamedTuple):
    """One thing to measure.

    `run` does the work once. A case that changes its input gives `prepare`, which makes a fresh input for every call
    (its time is not counted) and passes it to `run`. `document` is the JSON whose decode + encode is the measure;
    `aim` is the highest ratio we want to see.
    """

    name: str
    document: bytes
    run: Callable[..., Any]
    aim: float | None = None
    prepare: Callable[[], Any] | None = None


class Result(NamedTuple):
    """A measured case: seconds of one run, and of one decode + encode of its document."""

    case: Case
    seconds: float
    baseline: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.baseline


def measure(case: Case) -> Result:
    """Runs a case in turns with its baseline and gives the best round of each."""
    decode, encode, document = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode, case.document

    def baseline() -> None:
        encode(decode(document))

    ours = best = float("inf")
    run_times, base_times = _times(case.run, case.prepare), _times(baseline, None)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            best = min(best, _round(baseline, None, base_times))
            ours = min(ours, _round(case.run, case.prepare, run_times))
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    return Result(case, ours, best)


def _times(run: Callable[..., Any], prepare: Callable[[], Any] | None) -> int:
    """How many calls fill about one round (at least one), once what the first call has to make is made."""
    _round(run, prepare, 3)
    times = 1
    while times < 100_000 and _round(run, prepare, times) * times < ROUND_SECONDS / 2:
        times *= 2
    return times


def _round(run: Callable[..., Any], prepare: Callable[[], Any] | None, times: int) -> float:
    """The mean CPU seconds of one call over `times` calls."""
    clock = time.process_time
    if prepare is None:
        calls = range(times)
        start = clock()
        for _ in calls:
            run()
        return (clock() - start) / times
    # A few inputs at a time, so that they are as warm in the caches as what a server has just decoded.
    spent = 0.0
    for _ in range(0, times, BATCH):
        inputs = [prepare() for _ in range(BATCH)]
        start = clock()
        for value in inputs:
            run(value)
        spent += clock() - start
    return spent / (-(-times // BATCH) * BATCH)
