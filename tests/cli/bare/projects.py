"""Directories with a file of another tool, and the command as people run it there."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import ProxyHandler, build_opener

from tests.workload.podman import Service, connected

from setpoint.workload.engine.engine import Engine

PATIENCE_SECONDS = 90.0
T = TypeVar("T")


class BareProject:
    """A directory without an app file, and the command in it."""

    def __init__(self, directory: Path, environ: Mapping[str, str], engine: Service | None) -> None:
        self.directory, self._engine = directory, engine
        self.environ = dict(environ)

    def run(self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None) -> str:
        """What a command prints, which must end with the exit code."""
        ran = subprocess.run(
            [sys.executable, "-m", "setpoint", *arguments],
            cwd=self.directory,
            env={**self.environ, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        printed = ran.stdout + ran.stderr
        assert ran.returncode == code, f"setpoint {' '.join(arguments)}: {ran.returncode}\n{printed}"
        return printed

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / name).write_text(text)

    def get(self, url: str) -> str:
        with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_SECONDS) as answer:
            text: str = answer.read().decode()
            return text

    def objects(self, kind: str) -> dict[str, Any]:
        """The objects of a kind by name."""
        trees = json.loads(self.run("get", kind, "-o", "json"))["items"]
        return {tree["metadata"]["name"]: tree for tree in trees}

    def in_engine(self, ask: Callable[[Engine], Any]) -> Any:
        """What the engine answers."""
        assert self._engine is not None

        async def answer() -> Any:
            assert self._engine is not None
            async with connected(self._engine) as engine:
                return await ask(engine)

        return asyncio.run(answer())


@contextmanager
def project(place: Path, files: Mapping[str, str], engine: Service | None = None) -> Iterator[BareProject]:
    """A directory with files. At the end no part of its app is left running."""
    directory = place / "shop"
    directory.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(place / "state")}
    for name in ("KUBECONFIG", "FORCE_COLOR", "COMPOSE_FILE", "COMPOSE_PROFILES", "COMPOSE_PROJECT_NAME"):
        environ.pop(name, None)
    if engine is not None:
        environ["DOCKER_HOST"] = engine.address
    made = BareProject(directory, environ, engine)
    made.write(files)
    if engine is not None:
        # The first connection loads the image.
        made.in_engine(lambda engine: engine.containers.list())
    try:
        yield made
    finally:
        made.run("down", "--volumes")
