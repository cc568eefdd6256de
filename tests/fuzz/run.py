"""A run of the fuzzer: rounds of cases, a clean-up and a look at the memory of the server after each."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from tests.fuzz.case import Case
from tests.fuzz.client import Client, Failure
from tests.fuzz.making import Maker
from tests.fuzz.world import TOKENS, World

ROUND = 20_000
# Rounds after which caches of compiled schemas, documents and patterns count as full.
WARM = 3
GROWTH_BYTES = 96 << 20


@dataclass
class Report:
    """The result of a run. `resident` is the memory of the server before the first round and after each."""

    seed: int
    count: int = 0
    seconds: float = 0.0
    server_seconds: float = 0.0
    client_seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    ways: dict[str, int] = field(default_factory=dict)
    unanswered: int = 0
    failures: list[Failure] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)
    ready: bool = False

    @property
    def growth(self) -> int:
        """The memory that the server took after it was warm."""
        return self.resident[-1] - self.resident[WARM] if len(self.resident) > WARM else 0

    @property
    def problems(self) -> list[str]:
        found = [
            f"case {case.number} ({case.way}, {case.user}, {case.method} {case.path[:100]}): {reason}: {answer[:300]!r}"
            for case, reason, answer in self.failures
        ]
        found += [f"the server's log: {line[:300]}" for line in self.complaints]
        if not self.ready:
            found.append("the server does not answer /readyz any more")
        if self.growth > GROWTH_BYTES:
            found.append(
                f"the server grew by {self.growth >> 20} MiB after it was warm; the bound is {GROWTH_BYTES >> 20} MiB"
            )
        return found


def run(world: World, seed: int, first: int, count: int, findings: Path, tell: Callable[[str], None]) -> Report:
    """Sends `count` cases, the first of which has the index `first`."""
    report = Report(seed)
    world.prepare()
    maker = Maker(seed, *world.served())
    client = Client(world.host, world.port, findings)
    report.resident.append(world.resident_bytes())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        while report.count < count:
            size = min(ROUND, count - report.count)
            start, own, its = time.monotonic(), time.process_time(), world.cpu_seconds()
            runner.run(client.send(_cases(maker, first + report.count, size)))
            seconds = time.monotonic() - start
            report.seconds += seconds
            report.client_seconds += time.process_time() - own
            report.server_seconds += world.cpu_seconds() - its
            report.count += size
            removed = world.clean()
            report.resident.append(world.resident_bytes())
            tell(
                f"{report.count} requests, {size / seconds:.0f} a second, {len(client.failures)} failures, "
                f"{report.resident[-1] >> 20} MiB, {removed} objects removed"
            )
    report.statuses, report.ways = dict(client.statuses), dict(client.ways)
    report.unanswered, report.failures = client.unanswered, client.failures
    report.complaints = world.complaints()
    report.ready = world.ready()
    return report


def _cases(maker: Maker, first: int, count: int) -> Iterator[Case]:
    for index in range(first, first + count):
        yield maker.case(index, TOKENS)
