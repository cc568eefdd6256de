"""Runs an operator on kopf as its users do: `kopf run`, as a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.serving import SECONDS, Serving

ROOT = Path(__file__).parents[2]


@contextmanager
def operating(server: Serving, program: Path, directory: Path) -> Iterator[Path]:
    """A running operator, for the namespace `default`; the path of its log."""
    log = directory / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", "--verbose", str(program)],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig), "PYTHONPATH": str(ROOT)},
        )
    try:
        yield log
        text = log.read_text()
        assert process.poll() is None, text
        assert "Traceback" not in text, text
    finally:
        process.terminate()
        process.wait(SECONDS)


def eventually(what: Callable[[], Any], log: Path) -> Any:
    """What it gives once it is true; operators work in their own time."""
    until = time.monotonic() + SECONDS
    while not (found := what()):
        assert time.monotonic() < until, log.read_text()[-4000:]
        time.sleep(0.05)
    return found
