"""An app that runs, and commands that are run in its directory."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from tests.cli.app.machine import own_environ
from tests.cli.conftest import Ran

from setpoint.cli.main import main

SHOP = """\
app: shop
services:
  base: { run: "sh -c 'echo up; exec sleep 600'", ready: log:up }
  api: { run: "sh -c 'echo up; exec sleep 600'", replicas: 2, after: base, ready: log:up }
  web: { run: sleep 600, after: api }
  fragile:
    run: "sh -c 'test ! -e broken && echo up && exec sleep 600; echo no key >&2; exit 4'"
    ready: log:up
tasks:
  seed: { run: echo seeded }
  test: { run: "sh -c 'echo out $0; echo err >&2; exit $0'", args: [], after: [base, seed] }
  fails: { run: "false" }
  later: { run: echo later, after: fails }
  twice: { run: "sh -c 'echo try; exit 2'", retries: 1 }
  ask: { run: "sh -c 'echo name?; read name; echo hello $name; exit 5'", terminal: true }
  seen: { run: "sh -c 'test -t 1 && echo a terminal; sleep 0.5'", terminal: true }
  long: { run: "sh -c 'echo begun; exec sleep 600'" }
  yearly: { run: "sh -c 'exec sleep 600'", schedule: "@yearly" }
"""


class Shop(NamedTuple):
    """An app, by its directory, and the environment in which it runs."""

    directory: Path
    environ: Mapping[str, str]

    @contextmanager
    def running(self, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
        """A command as a process of its own, which does not outlive the test."""
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", *arguments],
            cwd=self.directory,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Who runs the tests in the background has it ignored, and what they start inherits that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        with process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def run(self, *arguments: str) -> Ran:
        """The same, to its end."""
        with self.running(*arguments) as process:
            out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out, err)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One app for the tests of a module."""
    directory = tmp_path_factory.mktemp("shop")
    found = Shop(directory, own_environ(tmp_path_factory.mktemp("state")))
    (directory / "setpoint.yaml").write_text(SHOP)
    ran = found.run("up", "-d")
    assert ran.code == 0, ran
    try:
        yield found
    finally:
        ran = found.run("down")
        assert "nothing left running" in ran.stdout, ran


@pytest.fixture
def setpoint(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `setpoint` with some arguments in the directory of the app."""
    monkeypatch.chdir(shop.directory)
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def run(*arguments: str) -> Ran:
        result = CliRunner().invoke(main, list(arguments), env=dict(shop.environ))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run
