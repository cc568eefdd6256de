"""The example apps, each in a directory of the test's own, and the command as people run it there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

APPS = Path(__file__).parents[2] / "examples" / "apps"
# What is left by those who tried them out where they are.
NOT_COPIED = shutil.ignore_patterns("data", "__pycache__", "bin")
PATIENCE_SECONDS = 60.0


class Example:
    """An example app."""

    def __init__(self, directory: Path, state: Path) -> None:
        self.directory = directory
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environ = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(state)}
        for name in ("KUBECONFIG", "FORCE_COLOR"):
            self.environ.pop(name, None)

    def setpoint(self, *arguments: str) -> str:
        """What a command prints, which must succeed."""
        command = [sys.executable, "-m", "setpoint", *arguments]
        ran = subprocess.run(
            command, cwd=self.directory, env=self.environ, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert ran.returncode == 0, f"setpoint {' '.join(arguments)}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def get(self, path: str) -> str:
        """What is at an address of the app: the name of a part, and a path."""
        part, _, rest = path.partition("/")
        url = f"{self.setpoint('url', part).strip()}/{rest}"
        with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_SECONDS) as answer:
            text: str = answer.read().decode()
            return text


@contextmanager
def example(name: str, place: Path) -> Iterator[Example]:
    """An example app that runs, with all of it ready. At the end nothing of it is left running."""
    directory = place / name
    shutil.copytree(APPS / name, directory, ignore=NOT_COPIED)
    app = Example(directory, place / "state")
    try:
        app.setpoint("up", "--detach")
        yield app
    finally:
        assert "nothing left running" in app.setpoint("down")
