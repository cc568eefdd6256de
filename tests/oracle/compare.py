"""Compares Setpoint with a real kube-apiserver: `python -m tests.oracle.compare --seed N --count N`.

The same seed draws the same episodes. Exit code 1: there are differences that the table of intended ones does not
explain.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.oracle.comparison import class_of
from tests.oracle.coverage import Coverage, grouped
from tests.oracle.documents import documents
from tests.oracle.episode import Finding, Outcome, replay, run_episode
from tests.oracle.kinds import Kind, kinds
from tests.oracle.our_server import our_server
from tests.oracle.pair import Pair
from tests.oracle.peers import oracle, write_files
from tests.oracle.programs import missing
from tests.oracle.report import Group, Report
from tests.oracle.request import Request
from tests.oracle.shrinking import shrunk
from tests.oracle.wire import Address

LENGTH = 24
# Success of fewer requests than this share on the real server makes the requests tamer.
SHARE = 0.63
# The examples of the largest classes are reduced in this time at the end of a run, the others are told as they are.
SHRINK_SECONDS = 150.0


@contextmanager
def pair() -> Iterator[Pair]:
    """Starts both servers in a temporary directory, and prepares them."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        files = write_files(directory)
        with oracle(directory, files) as real, our_server(directory, files) as ours:
            made = Pair(Address("127.0.0.1", real.port, files.authority), Address("127.0.0.1", ours.port))
            try:
                made.prepare()
                yield made
            finally:
                made.close()


class Run:
    """A run over all kinds, one after another, in episodes."""

    def __init__(self, pair: Pair, seed: int, wanted: list[str], tell: Callable[[str], None]) -> None:
        self.pair = pair
        self.report = Report(seed)
        self.coverage = Coverage()
        self.kinds, self.left = kinds(pair.asks(0), pair.asks(1))
        if wanted:
            self.kinds = [kind for kind in self.kinds if any(part in kind.name for part in wanted)]
        self._tell = tell
        self._episodes = 0

    def compare(self, count: int, *, shrink_seconds: float = SHRINK_SECONDS, first: int = 0) -> None:
        """Compares about as many requests, beginning with the episode that has the number `first`."""
        report = self.report
        start = time.monotonic()
        for outcome in documents(self.pair):
            self._add(outcome)
        boldness, told, number = 0.35, 0, first
        while report.count < count:
            random = Random(f"{report.seed}:{number}")
            kind = self.kinds[number % len(self.kinds)]
            length = 6 if kind.template.get("heavy") else LENGTH
            watched = random.random() < 0.3
            for outcome in run_episode(self.pair, self._name(), kind, random, boldness, length, watched=watched):
                self._add(outcome)
            number += 1
            share = report.succeeded / max(report.count, 1)
            boldness = min(0.6, boldness + 0.005) if share > SHARE else max(0.05, boldness - 0.02)
            report.seconds = time.monotonic() - start
            if report.count - told >= 1000:
                told = report.count
                self._tell(
                    f"{report.count} compared, {report.count / report.seconds:.0f} a second, {share:.1%} succeed, "
                    f"{report.differing} differ, {len(report.groups)} classes, episode {number}"
                )

        self._shrink(time.monotonic() + shrink_seconds)

    def _name(self) -> str:
        self._episodes += 1
        return f"e{self.report.seed}x{self._episodes}"

    def _add(self, outcome: Outcome) -> None:
        self.report.count += 1
        self.report.succeeded += 200 <= outcome.code < 400
        self.coverage.add(outcome.request, outcome.code)
        if outcome.finding:
            self.report.add(outcome.finding)

    def _shrink(self, end: float) -> None:
        """Reduces the examples, those of the largest classes first, until that time."""
        by_name = {kind.name: kind for kind in self.kinds}
        for group in self.report.ranked():
            kind = by_name.get(group.example.request.kind)
            if time.monotonic() > end or kind is None:
                continue

            def rerun(history: tuple[Request, ...], kind: Kind = kind) -> Finding | None:
                return replay(self.pair, self._name(), kind, history)

            _replace(group, shrunk(group.example, group.name, rerun))


def _replace(group: Group, finding: Finding) -> None:
    for difference in finding.compared.differences:
        if class_of(finding.request, difference) == group.name:
            group.example, group.difference = finding, difference
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5000, help="compared requests")
    parser.add_argument("--first", type=int, default=0, help="the number of the first episode")
    parser.add_argument("--kinds", nargs="*", default=[], help="parts of names such as pods/v1 or apps/v1")
    parser.add_argument("--report", type=Path, help="the file for the report in Markdown")
    parser.add_argument("--shrink-seconds", type=float, default=SHRINK_SECONDS, help="the time to reduce examples")
    arguments = parser.parse_args()
    if lacking := missing("etcd", "kube-apiserver"):
        print(f"{', '.join(lacking)} are not built; run `make oracle`, which needs Go", file=sys.stderr)
        return 2
    with pair() as servers:
        run = Run(servers, arguments.seed, arguments.kinds, lambda text: print(text, flush=True))
        try:
            run.compare(arguments.count, shrink_seconds=arguments.shrink_seconds, first=arguments.first)
        except KeyboardInterrupt:
            print("interrupted")
        count, gaps = run.coverage.gaps(run.kinds)
    text = run.report.told()
    if arguments.report:
        arguments.report.write_text(text)
    print(text.partition("## Classes")[0])
    print(f"coverage: {count - len(gaps)} of {count} cells of kind, verb, patch type and subresource have a success")
    print("gaps by verb, patch type and subresource:")
    for place, kinds_of in grouped(gaps):
        print(f"  {place}: {len(kinds_of)}: {', '.join(kinds_of[:8])}{', …' if len(kinds_of) > 8 else ''}")
    print("kinds without a template or not served by both: " + ", ".join(run.left))
    return 1 if run.report.groups else 0


if __name__ == "__main__":
    sys.exit(main())
