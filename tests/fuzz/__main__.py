"""Runs the fuzzer: `python -m tests.fuzz --seed 1 --count 1000000`. Exits with 1 if an answer was wrong.

The seed and the number of a case make its bytes, so a failure is repeated with the same seed: the whole run, or with
`--first` and `--count` a part of it. The requests that failed are in the directory that the program prints.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.fuzz.isolation import isolated
from tests.fuzz.run import run
from tests.fuzz.world import world

SHOWN = 40


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description="Send malformed requests to a server of its own.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0, help="the index of the first case")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # or the server would stay
    print(f"seed {given.seed}: {given.count} requests from number {given.first} on; network: {isolated()}", flush=True)
    findings = Path("build/fuzz") / str(given.seed)
    with tempfile.TemporaryDirectory() as directory, world(Path(directory)) as served:
        report = run(served, given.seed, given.first, given.count, findings, lambda line: print(line, flush=True))
    rate = report.count / report.seconds
    print(
        f"{report.count} requests in {report.seconds:.0f} s, {rate:.0f} a second; processor time of the server "
        f"{report.server_seconds:.0f} s, of the client {report.client_seconds:.0f} s"
    )
    print("answers:", ", ".join(f"{status} {count}" for status, count in sorted(report.statuses.items())))
    print("closed without an answer:", report.unanswered)
    print("kinds of cases:", ", ".join(f"{way} {count}" for way, count in sorted(report.ways.items())))
    print("memory of the server in MiB:", ", ".join(str(size >> 20) for size in report.resident))
    for problem in report.problems[:SHOWN]:
        print(problem)
    if report.problems:
        print(f"{len(report.problems)} problems; requests that failed are in {findings}")
        print(f"again: make fuzz SEED={given.seed} COUNT={given.count} FIRST={given.first}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
