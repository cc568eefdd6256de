"""Workloads beside others that run processes, and proxies: honcho and supervisord from PyPI, socat from Debian.

All are told to run the same commands, and whether a process runs is what the process itself says: it writes a line into
a pipe that is read here. Ours and supervisord are there before they are told; honcho has no daemon, so its times begin
with its own start, and it runs nothing that ends, for it ends with that. What cannot be had is left out with a word.
"""

import os
import select
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure
from bench.workloads import proxying
from bench.workloads.rivals import Honcho, Ours, Rival, Supervisord, cpu, memory, missing, running

MANY = 100
IDLE = 200
IDLE_SECONDS = 5.0
ROUNDS = 3
RESTARTS = 15
_PATIENCE = 30.0

Make = Callable[[Path, list[str]], Rival]


class Said:
    """What processes say: a line each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "said"
        os.mkfifo(self.path)
        # With both ends open here it never ends.
        self._descriptor = os.open(self.path, os.O_RDWR)

    def lines(self, number: int) -> list[int]:
        """Waits for so many lines, each a pid."""
        data, deadline = b"", time.monotonic() + _PATIENCE
        while data.count(b"\n") < number:
            if not select.select([self._descriptor], [], [], deadline - time.monotonic())[0]:
                raise RuntimeError(f"of {number} processes only {data.count(b'%c' % 10)} have said something")
            data += os.read(self._descriptor, 1 << 16)
        return [int(line) for line in data.split()]

    def close(self) -> None:
        os.close(self._descriptor)


def figures() -> Iterator[Figure]:
    rivals: dict[str, Make] = {"ours": Ours}
    for name, make in (("honcho", Honcho), ("supervisord", Supervisord)):
        if why := missing(name):
            print(why)
        else:
            rivals[name] = make
    yield from _beside(f"{MANY} processes from apply to all running", "ms", rivals, _until_running)
    rivals.pop("honcho", None)
    yield from _beside(f"{MANY} short-lived processes from apply to all done", "ms", rivals, _until_done)
    yield from _idle({**rivals, **({"honcho": Honcho} if not missing("honcho") else {})})
    yield from _restarts(rivals)
    yield from proxying.figures()


def _beside(what: str, unit: str, rivals: dict[str, Make], measure: Callable[[Make], float]) -> Iterator[Figure]:
    """The best of some rounds of each, in turns."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(ROUNDS):
        for name, make in rivals.items():
            best[name] = min(best[name], measure(make))
    yield from _figures(what, unit, best)


def _figures(what: str, unit: str, found: dict[str, float]) -> Iterator[Figure]:
    others = {name: value for name, value in found.items() if name != "ours"}
    if not others:
        yield Figure(what, found["ours"], unit)
    for name, value in others.items():
        yield Figure(what, found["ours"], unit, name, value)


@contextmanager
def _scene() -> Iterator[tuple[Path, Said]]:
    with tempfile.TemporaryDirectory() as name:
        said = Said(Path(name))
        try:
            yield Path(name), said
        finally:
            said.close()


def _until_running(make: Make) -> float:
    return _until_said(make, _sleeper)


def _until_done(make: Make) -> float:
    return _until_said(make, lambda said: f"echo $$ > {said.path}")


def _sleeper(said: Said) -> str:
    return f"echo $$ > {said.path}; exec sleep 1000"


def _until_said(make: Make, command: Callable[[Said], str]) -> float:
    with _scene() as (folder, said), running(make(folder, [command(said)] * MANY)) as rival:
        start = time.perf_counter()
        rival.run()
        said.lines(MANY)
        return (time.perf_counter() - start) * 1e3


def _idle(rivals: dict[str, Make]) -> Iterator[Figure]:
    weights, spent = {}, {}
    for name, make in rivals.items():
        with _scene() as (folder, said), running(make(folder, [_sleeper(said)] * IDLE)) as rival:
            rival.run()
            said.lines(IDLE)
            time.sleep(IDLE_SECONDS)  # until it has come to rest
            pids = rival.pids()
            before = cpu(pids)
            time.sleep(IDLE_SECONDS)
            spent[name] = (cpu(pids) - before) / IDLE_SECONDS * 1e3
            weights[name] = memory(pids)
    yield from _figures(f"memory while {IDLE} idle processes run", "MiB", weights)
    yield from _figures(f"CPU while {IDLE} idle processes run", "ms/s", spent)


def _restarts(rivals: dict[str, Make]) -> Iterator[Figure]:
    latencies = {}
    for name in rivals:
        with _scene() as (folder, said):
            commands = [_sleeper(said)]
            rival = Ours(folder, commands, restart=True) if name == "ours" else Supervisord(folder, commands, True)
            with running(rival):
                rival.run()
                [pid] = said.lines(1)
                found = []
                for _ in range(RESTARTS):
                    time.sleep(0.1)
                    start = time.perf_counter()
                    os.kill(pid, signal.SIGKILL)
                    [pid] = said.lines(1)
                    found.append(time.perf_counter() - start)
                latencies[name] = statistics.median(found) * 1e3
    yield from _figures("from a crash to the next process running", "ms", latencies)
