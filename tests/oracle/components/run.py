"""Runs the scenario on both servers: `python -m tests.oracle.components.run`.

Prints the time that the servers used of a processor, and the errors that only one run has. Exit code 1: the log of a
component on Setpoint has an error that the run on kube-apiserver lacks and the table does not allow.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.oracle.components.cluster import MANAGER, PROGRAMS, SCHEDULER, Cluster, real_cluster, setpoint_cluster
from tests.oracle.components.delegation import metrics_are_guarded
from tests.oracle.components.error_lines import allowed, errors, unexplained
from tests.oracle.components.scenario import STEPS
from tests.oracle.programs import missing


class Outcome(NamedTuple):
    """A run: its steps and seconds, the processor seconds of each server, and the errors of each component."""

    steps: int
    seconds: float
    used: dict[str, float]
    errors: dict[str, Counter[str]]


def steps(cluster: Cluster) -> list[tuple[str, Callable[[], None]]]:
    """The steps with their names."""
    found: list[tuple[str, Callable[[], None]]] = [(_name(step), partial(step, cluster.api)) for step in STEPS]
    return [*found, (_name(metrics_are_guarded), partial(metrics_are_guarded, cluster))]


def _name(step: Callable[..., None]) -> str:
    return step.__name__.replace("_", " ")


def run(
    cluster: Callable[[Path], AbstractContextManager[Cluster]], directory: Path, tell: Callable[[str], None]
) -> Outcome:
    """Runs all steps. Raises AssertionError, with the name of the step, and the errors of the components."""
    directory.mkdir()
    begin = time.monotonic()
    with cluster(directory) as running:
        for name, step in steps(running):
            start = time.monotonic()
            try:
                step()
            except Exception as error:
                found = {name: sorted(errors(log)) for name, log in running.logs.items()}
                raise AssertionError(f"{name}: {error}; errors in the logs: {found}") from error
            tell(f"  {name}: {time.monotonic() - start:.1f} s")
        used = running.processor_seconds()
        seconds, count = time.monotonic() - begin, len(steps(running))
    return Outcome(count, seconds, used, {name: errors(running.logs[name]) for name in (MANAGER, SCHEDULER)})


def compare(directory: Path, tell: Callable[[str], None]) -> Counter[str]:
    """Runs the scenario on both servers, and returns the errors that are a bug of Setpoint, with their component."""
    outcomes = []
    for name, cluster in (("kube-apiserver", real_cluster), ("Setpoint", setpoint_cluster)):
        tell(f"{name}:")
        outcomes.append(outcome := run(cluster, directory / name, tell))
        used = ", ".join(f"{server} {seconds:.2f} s" for server, seconds in outcome.used.items())
        tell(f"  {outcome.steps} steps in {outcome.seconds:.0f} s; processor time: {used}")
    real, ours = outcomes
    table = allowed()
    found: Counter[str] = Counter()
    for component in (MANAGER, SCHEDULER):
        counts = [outcome.errors[component].total() for outcome in (ours, real)]
        tell(f"{component}: {counts[0]} errors on Setpoint, {counts[1]} on the real server")
        faults = unexplained(ours.errors[component], real.errors[component], table)
        found.update({f"{component}: {line}": count for line, count in faults.items()})
    return found


def main() -> int:
    if absent := missing(*PROGRAMS):
        print(f"{', '.join(absent)} missing in build/peers: run `make oracle`")
        return 2
    with TemporaryDirectory() as name:
        found = compare(Path(name), lambda line: print(line, flush=True))
    for line, count in found.most_common():
        print(f"only on Setpoint, {count} times: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
