"""A server with simulated nodes for each operator, and its kubectl."""

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.clients.serving import SECONDS, Serving, serving
from tests.debian import require
from tests.oracle.programs import PEERS

LONGEST_SECONDS = 60


class Cluster:
    """A server, and the kubectl of its administrator."""

    def __init__(self, server: Serving, directory: Path) -> None:
        self.server, self.directory = server, directory
        # The kubectl of Debian is too old to wait for a field.
        self._program = os.environ.get("KUBECTL") or require("kubectl", "kubernetes-client")

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """The output of a command of kubectl. Raises AssertionError with its errors if the command fails."""
        done = subprocess.run(
            [self._program, "--cache-dir", str(self.directory / "cache"), *arguments],
            env={**os.environ, "KUBECONFIG": str(self.server.kubeconfig)},
            input=text,
            capture_output=True,
            text=True,
            timeout=2 * LONGEST_SECONDS,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def apply(self, *objects: str) -> None:
        self.kubectl("apply", "-f", "-", text="\n---\n".join(objects))

    def eventually_apply(self, *objects: str) -> None:
        """Applies objects as soon as the webhooks of an operator answer."""
        end = time.monotonic() + LONGEST_SECONDS
        while True:
            try:
                self.apply(*objects)
                return
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def wait(self, what: str, condition: str, namespace: str = "default", *, seconds: int = LONGEST_SECONDS) -> None:
        """Waits for a condition, as `kubectl wait --for`."""
        self.kubectl("wait", what, f"--for={condition}", f"--timeout={seconds}s", "-n", namespace)

    @contextmanager
    def running(self, program: Path, *flags: str, environment: dict[str, str] | None = None) -> Iterator[Path]:
        """Runs a program with the kubeconfig in its environment; yields its log."""
        log = self.directory / f"{program.name}.log"
        variables = {**os.environ, "KUBECONFIG": str(self.server.kubeconfig), **(environment or {})}
        with log.open("w") as output:
            process = subprocess.Popen(
                [str(program), *flags], stdout=output, stderr=subprocess.STDOUT, env=variables, cwd=self.directory
            )
        try:
            yield log
            assert process.poll() is None, f"{program.name} ended: {log.read_text()[-3000:]}"
        except AssertionError as error:
            error.add_note(log.read_text()[-3000:])
            raise
        finally:
            process.terminate()
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def helm(cluster: Cluster, *arguments: str) -> str:
    """The output of a command of Helm. Skips the test if Helm is not built."""
    place = PEERS / "helm"
    if not place.is_file():
        pytest.skip("`make test-peers` builds Helm")
    variables = {"KUBECONFIG": str(cluster.server.kubeconfig), "HELM_CACHE_HOME": str(cluster.directory / "helm")}
    done = subprocess.run(
        [str(place), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=2 * LONGEST_SECONDS,
    )
    assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr}"
    return done.stdout


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A server with three simulated nodes, and the further options of its parameter."""
    more: Sequence[str] = getattr(request, "param", ())
    with serving(tmp_path, controllers="*", more=["--nodes", "simulated:3", *more]) as server:
        yield Cluster(server, tmp_path)
