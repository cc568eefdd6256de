"""An app of four parts in a directory of its own, and the view of it on a terminal."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.cli.view.watched import Watched

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
Show = Callable[..., AbstractContextManager[Watched]]
Told = Callable[..., tuple[int, str]]


class Shop:
    """What each part of the app does: `await FILE`, `say TEXT`, `warn TEXT`, `exit CODE`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        text = (HERE / "shop.yaml").read_text().replace("PYTHON", sys.executable)
        (directory / "setpoint.yaml").write_text(text)
        shutil.copy(HERE / "serve.py", directory / "serve.py")
        (directory / "api.conf").touch()
        self.does("db", "await go", "say db is up", "warn it is cold")

    def does(self, part: str, *lines: str) -> None:
        (self.directory / f"{part}.txt").write_text("\n".join(lines))

    def change(self, file: str) -> None:
        """A file comes, or changes."""
        with (self.directory / file).open("a") as found:
            found.write("\n")

    def environ(self, **more: str) -> dict[str, str]:
        """That of who looks at it."""
        own = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        found = {name: value for name, value in os.environ.items() if name not in own}
        return {**found, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **more}

    def command(self, *asked: str) -> list[str]:
        return [sys.executable, "-m", "tests.cli.view.driver", str(self.directory), *asked]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


class Stage:
    """Starts views, one at a time (`stage.py`)."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.cli.view.stage"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True)
        self.pid = 0
        self._code: int | None = None

    def start(self, shop: Shop, asked: tuple[str, ...], environ: dict[str, str], terminal: str) -> "Stage":
        assert self._process.stdin is not None
        arguments = [str(shop.directory), *asked]
        order = {"terminal": terminal, "environ": shop.environ(**environ), "arguments": arguments}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        self.pid, self._code = self._answer(), None
        return self

    def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def poll(self) -> int | None:
        assert self._process.stdout is not None
        if self._code is None and select.select([self._process.stdout], [], [], 0)[0]:
            self._code = self._answer()
        return self._code

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    found = Stage()
    yield found
    found.close()


@pytest.fixture
def show(shop: Shop, stage: Stage) -> Show:
    """The view on a terminal, with what is asked of it."""

    @contextmanager
    def shown(*asked: str, columns: int = 80, rows: int = 30, **environ: str) -> Iterator[Watched]:
        view = Watched(lambda terminal: stage.start(shop, asked, environ, terminal), columns, rows)
        try:
            yield view
        finally:
            view.close()

    return shown


@pytest.fixture
def told(shop: Shop, stage: Stage) -> Told:
    """What the view says where there is no terminal, and its exit code."""

    def run(*asked: str) -> tuple[int, str]:
        file = shop.directory / "told.txt"
        file.write_text("")
        stage.start(shop, asked, {}, str(file))
        while (code := stage.poll()) is None:
            time.sleep(0.02)
        return code, file.read_text()

    return run
