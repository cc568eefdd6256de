"""Runs the tests that the official Java and JavaScript clients, fabric8 and kube-rs have for a real cluster.

    python -m tools.suites.clients CLIENT --source PATH [--real] [TEST ...]

CLIENT is fabric8, java, javascript or rust; PATH is a source tree of the client at a release, where the build of the
client writes its own files. TEST restricts the run (a class in Java, a file in JavaScript, part of a name in Rust). The
cluster is Setpoint, or kube-apiserver with --real, with kube-controller-manager, kube-scheduler and KWOK of build/peers
(`make oracle`): pods are Running, but have no processes.

Exit code 1: a test failed. The output of the tests is in the file that the command names last.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import IO, NamedTuple
from xml.etree import ElementTree

from tests.oracle.components.cluster import PROGRAMS, real_cluster, setpoint_cluster
from tests.oracle.components.manifests import named, node, pod_spec
from tests.oracle.programs import missing

NODES = 2
_BUILD_SECONDS, _TEST_SECONDS = 3600.0, 180.0
# Tests that need a process in a pod: each waits for minutes before its failure.
_FABRIC8_EXCLUDED = ("!PodIT", "!io.fabric8.openshift.**")
_JAVASCRIPT_EXCLUDED = {"cpFromPod", "portForward"}
_JAVASCRIPT_ENTRY = "const test = await import(process.env.SUITE_TEST); await test.default(); process.exit(0);"


class Outcome(NamedTuple):
    """The result of one test."""

    name: str
    result: str


class Run(NamedTuple):
    """One run of a suite. The environment has the kubeconfig of an administrator."""

    source: Path
    tests: Sequence[str]
    environment: dict[str, str]
    output: IO[bytes]

    def execute(self, *command: str, seconds: float = _BUILD_SECONDS) -> int:
        """Runs a command in the source tree and returns its exit code; 124 after the time limit."""
        with subprocess.Popen(
            command, cwd=self.source, env=self.environment, stdout=self.output, stderr=self.output
        ) as process:
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                return 124

    def build(self, *command: str) -> None:
        """Runs a command that fails only without a result of any test."""
        if code := self.execute(*command):
            raise SystemExit(f"`{' '.join(command)}` exited with code {code}: see {self.output.name}")


def fabric8(run: Run) -> Iterator[Outcome]:
    names = ",".join(run.tests or ("io.fabric8.kubernetes.**", *_FABRIC8_EXCLUDED))
    module = run.source / "kubernetes-itests"
    return _maven(run, module, "-Pitests", "-pl", module.name, f"-Dtest={names}")


def java(run: Run) -> Iterator[Outcome]:
    names = [f"-Dtest={','.join(run.tests)}"] if run.tests else []
    return _maven(run, run.source / "e2e", "-De2e.skip=false", "-pl", "e2e", *names)


def _maven(run: Run, module: Path, *arguments: str) -> Iterator[Outcome]:
    """The outcomes in the reports of Surefire. The other modules of the release come from the registry."""
    reports = module / "target" / "surefire-reports"
    for path in reports.glob("TEST-*.xml"):
        path.unlink()
    run.build("mvn", "-B", "-ntp", "-Dmaven.test.failure.ignore=true", "test", *arguments)
    for path in sorted(reports.glob("TEST-*.xml")):
        yield from surefire_outcomes(path.read_text())


def surefire_outcomes(report: str) -> Iterator[Outcome]:
    """The outcomes in one report of Surefire."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        failed = case.find("failure") is not None or case.find("error") is not None
        result = "failed" if failed else "skipped" if case.find("skipped") is not None else "passed"
        yield Outcome(f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}", result)


def javascript(run: Run) -> Iterator[Outcome]:
    """Runs each integration test in a process of its own; the suite's own entry ends at the first failure."""
    run.build("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    directory = run.source / "src" / "test" / "integration"
    entry = re.findall(r"from '\./(\w+)\.js'", (directory / "index.ts").read_text())
    for name in entry:
        if run.tests and name not in run.tests:
            continue
        if name in _JAVASCRIPT_EXCLUDED and not run.tests:
            yield Outcome(name, "skipped")
            continue
        run.environment["SUITE_TEST"] = str(directory / f"{name}.ts")
        command = ("node", "--import", "tsx", "--input-type=module", "--eval", _JAVASCRIPT_ENTRY)
        yield Outcome(name, "failed" if run.execute(*command, seconds=_TEST_SECONDS) else "passed")


def rust(run: Run) -> Iterator[Outcome]:
    """Runs the tests that kube-rs ignores without a cluster."""
    packages = ("--lib", "--workspace", "--exclude=e2e", "--exclude=kube-examples", "--all-features")
    run.build("cargo", "test", "--quiet", "--no-run", *packages)
    start = run.output.tell()
    run.execute("cargo", "test", "--no-fail-fast", *packages, "--", "--ignored", "--test-threads=2", *run.tests)
    with Path(run.output.name).open("rb") as log:
        log.seek(start)
        yield from cargo_outcomes(log.read().decode(errors="replace"))


def cargo_outcomes(text: str) -> Iterator[Outcome]:
    """The outcomes in the output of `cargo test`."""
    # The output of a test that runs beside may stand between its name and its result.
    failed = set(re.findall(r"^    ([\w:]+)$", text, re.M))
    for name in sorted(set(re.findall(r"^test ([\w:]+)(?: - should panic)? \.\.\.", text, re.M))):
        yield Outcome(name, "failed" if name in failed else "passed")


CLIENTS: dict[str, tuple[Callable[[Run], Iterator[Outcome]], str, str]] = {
    "fabric8": (fabric8, "kubernetes-itests/pom.xml", "mvn"),
    "java": (java, "e2e/pom.xml", "mvn"),
    "javascript": (javascript, "src/test/integration/index.ts", "npm"),
    "rust": (rust, "kube-client/Cargo.toml", "cargo"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a client's tests for a real cluster against Setpoint.")
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("--source", type=Path, required=True, help="a source tree of the client, at a release")
    parser.add_argument("--real", action="store_true", help="against kube-apiserver of build/peers")
    parser.add_argument("tests", nargs="*", metavar="TEST", help="tests to run")
    options = parser.parse_intermixed_args()
    suite, mark, program = CLIENTS[options.client]
    source: Path = options.source.resolve()
    if not (source / mark).is_file():
        parser.error(f"{source} has no {mark}: pass a source tree of the client")
    if absent := missing(*PROGRAMS):
        parser.error(f"{', '.join(absent)} missing in build/peers: run `make oracle`")
    log = Path(mkdtemp(prefix=f"{options.client}-suite-")) / "output.log"
    with TemporaryDirectory() as name, log.open("wb") as output:
        directory = Path(name)
        with (real_cluster if options.real else setpoint_cluster)(directory) as cluster:
            for number in range(NODES):
                cluster.api.create("/api/v1/nodes", node(f"node-{number}"))
            # Tests expect the pods of a cluster's own components.
            system = "/api/v1/namespaces/kube-system"
            cluster.api.until("a service account", lambda: cluster.api.exists(f"{system}/serviceaccounts/default"))
            cluster.api.create(f"{system}/pods", named("component", pod_spec()))
            environment = {**os.environ, "KUBECONFIG": str(directory / "admin.kubeconfig")}
            try:
                outcomes = list(suite(Run(source, options.tests, environment, output)))
            except FileNotFoundError:
                parser.error(f"no {program} on PATH: install it")
    return report(outcomes, log)


def report(outcomes: Sequence[Outcome], log: Path) -> int:
    """Prints the counts and the failed tests."""
    counts = {result: sum(each.result == result for each in outcomes) for result in ("passed", "failed", "skipped")}
    print(f"{len(outcomes)} tests, " + ", ".join(f"{count} {result}" for result, count in counts.items()))
    for each in outcomes:
        if each.result != "passed":
            print(f"{each.result}: {each.name}")
    print(f"output: {log}")
    return 1 if counts["failed"] or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
