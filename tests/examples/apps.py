"""The example apps, each in a directory of the test's own, and the command as people run it there."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

APPS = Path(__file__).parents[2] / "examples" / "apps"
PATIENCE_SECONDS = 60.0


class Part(NamedTuple):
    """How a part of an app is."""

    state: str
    ready: str
    restarts: int


class Example:
    """An example app."""

    def __init__(self, directory: Path, state: Path, **variables: str) -> None:
        self.directory = directory
        bin_directory = Path(sys.executable).parent
        self.environ = {
            **os.environ,
            "PATH": f"{bin_directory}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(state),
            "COLUMNS": "140",
            **variables,
        }
        for name in ("KUBECONFIG", "FORCE_COLOR"):
            self.environ.pop(name, None)

    def setpoint(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; it must end with this exit code."""
        command = [sys.executable, "-m", "setpoint", *arguments]
        ran = subprocess.run(
            command, cwd=self.directory, env=self.environ, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert ran.returncode == code, f"setpoint {' '.join(arguments)}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def parts(self) -> dict[str, Part]:
        """What `ps` says of each part."""
        rows = [re.split(r"\s{2,}", line) for line in self.setpoint("ps").splitlines()[1:]]
        return {name: Part(state, ready, int(restarts)) for name, _, state, ready, restarts, *_ in rows}

    def get(self, path: str) -> str:
        """What is at an address of the app: the name of a part, and a path."""
        part, _, rest = path.partition("/")
        return fetch(f"{self.setpoint('url', part).strip()}/{rest}")

    def edit(self, name: str, old: str, new: str) -> None:
        """Changes a file, as an editor does."""
        path = self.directory / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def await_(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"it did not come to be:\n{self.setpoint('ps')}"
            time.sleep(0.05)


def fetch(url: str) -> str:
    with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_SECONDS) as answer:
        text: str = answer.read().decode()
        return text


@contextmanager
def example(name: str, place: Path, *up: str, **variables: str) -> Iterator[Example]:
    """An example app that runs, with all of it ready. At the end nothing of it is left running."""
    directory = place / name
    shutil.copytree(APPS / name, directory, ignore=shutil.ignore_patterns("data", "__pycache__", "bin"))
    app = Example(directory, place / "state", **variables)
    try:
        app.setpoint("up", "--detach", *up)
        yield app
    finally:
        assert "nothing left running" in app.setpoint("down")
