"""Apps for tests of sessions: a file, a session of its own, and what became of the app."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from setpoint.app.changes import ObjectChange
from setpoint.cli.app.app_file import read_file
from setpoint.cli.support.connection import Server, connect
from setpoint.client.client import Client
from setpoint.objects.tree import Object
from setpoint.session.app_apply import apply_app
from setpoint.session.paths import Places
from setpoint.session.shutdown import Ended, ShutdownProgress, end
from setpoint.session.startup import Started, start
from setpoint.workload.kinds.api_names import GROUP, VERSION

# Says that it runs, and with what; then waits to be ended.
WAITS = json.dumps(
    [sys.executable, "-c", "import os, signal; print(os.environ.get('SAYS'), flush=True); signal.pause()"]
)


class Running:
    """An app that runs."""

    def __init__(self, started: Started, client: Client, file: Path, environ: Mapping[str, str]) -> None:
        self.started, self.client, self.file, self.environ = started, client, file, environ
        self.progress: list[ShutdownProgress] = []

    @property
    def places(self) -> Places:
        return Places.of_session(self.started.session)

    async def apply(self, text: str = "", on_wait: Callable[[str], None] = lambda _: None) -> list[str]:
        """Applies the file, or another text of it; what that took."""
        if text:
            self.file.write_text(text)
        objects = read_file(self.file, self.environ).objects
        found: list[ObjectChange] = await apply_app(self.client, self.places, objects, on_wait)
        return [str(each) for each in found]

    async def get(self, kind: str, name: str) -> Object:
        return await self.client.get(f"{GROUP}/{VERSION}/{kind}", name)

    async def running(self, name: str, *, other_than: int = 0) -> int:
        """The pid of a process, once it runs."""

        def runs(tree: Any) -> bool:
            status = (tree or {}).get("status") or {}
            return status.get("state") == "Running" and status.get("pid") not in (None, other_than)

        found = await self.client.wait_for(f"{GROUP}/{VERSION}/Executable", name, until=runs, timeout=60.0)
        assert found is not None
        pid: int = found["status"]["pid"]
        return pid

    async def end(self) -> Ended:
        return await end(self.started.session, self.client, self.progress.append)


@asynccontextmanager
async def app(directory: Path, text: str, *, attendant: str = "", **variables: str) -> AsyncIterator[Running]:
    """An app of this text, started and applied. It must be ended by the test, or is at its end."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "setpoint.yaml"
    file.write_text(text)
    environ = os.environ | variables
    loaded = read_file(file, environ)
    started = await start(loaded.app.app, file, environ, attendant=attendant)
    async with connect(Server(session=started.session.id)) as client:
        made = Running(started, client, file, environ)
        try:
            await made.apply()
            yield made
        finally:
            if started.session.is_alive:
                await made.end()
