"""A server that runs workloads, as a process of its own, and commands that are run against it."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from setpoint.cli.main import main

# How long a server may take to say that it is ready, on a busy machine.
_PATIENCE_SECONDS = 60


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


class Served(NamedTuple):
    """A server, by its kubeconfig, and the environment of those who use it."""

    kubeconfig: Path
    environ: Mapping[str, str]


Command = Callable[..., Ran]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a worker: they keep apart by namespaces and names."""
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[Served]:
    """Runs a server with its files in a directory."""
    environ = {**os.environ, "XDG_STATE_HOME": str(directory / "state"), "HOME": str(directory)}
    for name in ("KUBECONFIG", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL", "KUBE_EDITOR"):
        environ.pop(name, None)
    kubeconfig = directory / "kubeconfig"
    arguments = ("serve", "--workloads", "--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig), *options)
    with open(directory / "errors", "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environ,
            text=True,
            cwd=directory,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready "), (directory / "errors").read_text()
        yield Served(kubeconfig, {**environ, "KUBECONFIG": str(kubeconfig)})
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def setpoint(served: Served) -> Command:
    """Runs `setpoint` with some arguments against the server."""
    return command_of(served)


def command_of(served: Served) -> Command:
    """Returns a function that runs `setpoint` with some arguments against a server."""

    def run(*arguments: str, text: str | None = None, **environ: str) -> Ran:
        result = CliRunner().invoke(main, list(arguments), input=text, env={**served.environ, **environ})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def namespace(setpoint: Command) -> str:
    """A namespace of the test's own; it goes with the server."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    tree = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"
    assert setpoint("apply", "-f", "-", text=tree).code == 0
    return name
