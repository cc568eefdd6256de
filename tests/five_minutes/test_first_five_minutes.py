"""The first five minutes with Setpoint, as somebody has them who has an app and a terminal: from nothing to running,
an edit, a mistake, kubectl, a controller of their own, a look back, and the end."""

import fcntl
import os
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.view.watched import PATIENCE_SECONDS, Watched
from tests.clients.conftest import kubectl_program

from setpoint.session.registry import Sessions
from setpoint.workload.process.process_table import ProcessTable

pytestmark = pytest.mark.slow

SETPOINT = (sys.executable, "-m", "setpoint")
WEB = """\
import http.server
import os

GREETING = "hello"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(GREETING.encode())


print("web says", GREETING, flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Page).serve_forever()
"""
WORKER = """\
import signal

print("worker waits", flush=True)
signal.pause()
"""


class Newcomer:
    """Somebody in a directory, with a shell."""

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self.directory, self.environ = directory, environ

    def types(self, *words: str, code: int = 0) -> str:
        """Runs a command; what it printed."""
        ran = subprocess.run(
            words, cwd=self.directory, env=self.environ, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert ran.returncode == code, f"{' '.join(words)}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout + ran.stderr

    def setpoint(self, *words: str, code: int = 0) -> str:
        return self.types(*SETPOINT, *words, code=code)

    @contextmanager
    def looks_at(self, *words: str) -> Iterator[Watched]:
        """Runs a command in a terminal of its own, and looks at it meanwhile."""

        def start(terminal: str) -> "subprocess.Popen[bytes]":
            place = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
            try:
                return subprocess.Popen(
                    words,
                    cwd=self.directory,
                    env=self.environ,
                    stdin=place,
                    stdout=place,
                    stderr=place,
                    start_new_session=True,
                    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                )
            finally:
                os.close(place)

        terminal = Watched(start, 100, 40)
        try:
            yield terminal
        finally:
            terminal.close()

    def saves(self, name: str, text: str) -> None:
        (self.directory / name).write_text(text)


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    directory = tmp_path / "shop"
    directory.mkdir()
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path), "NO_COLOR": "1"}
    for name in ("KUBECONFIG", "SETPOINT_WORKLOAD", "COLUMNS"):
        environ.pop(name, None)
    someone = Newcomer(directory, environ)
    someone.saves("Procfile", "web: python3 web.py\nworker: python3 worker.py\n")
    someone.saves("web.py", WEB)
    someone.saves("worker.py", WORKER)
    return someone


def test_the_first_five_minutes(newcomer: Newcomer) -> None:
    written = newcomer.setpoint("init")
    assert "Procfile" in written
    assert "setpoint up" in written

    with newcomer.looks_at(*SETPOINT, "up") as terminal:
        terminal.until("ready in")
        terminal.until("web says hello")
        assert "web" in newcomer.setpoint("ps")
        url = newcomer.setpoint("url", "web").strip()
        assert newcomer.types("curl", "-sS", url) == "hello"

        # An edit restarts what it concerns, and says so.
        newcomer.saves("web.py", WEB.replace('"hello"', '"good morning"'))
        terminal.until("web restarted: web.py changed")
        terminal.until("web says good morning")
        assert newcomer.types("curl", "-sS", "--retry", "5", "--retry-connrefused", url) == "good morning"

        # A mistake is explained: what ended, the last lines, the file that was saved.
        newcomer.saves("web.py", 'raise SystemExit("no database at 5433")\n')
        terminal.until("web failed")
        story = newcomer.setpoint("why", "web")
        assert "exit code 1" in story
        assert "no database at 5433" in story
        assert "web.py" in story
        newcomer.saves("web.py", WEB)
        terminal.until(lambda text: text.count("web says hello") == 2)

        # It is a real API.
        kubeconfig = newcomer.setpoint("kubeconfig").strip()
        listed = newcomer.types(kubectl_program(), "--kubeconfig", kubeconfig, "get", "executables")
        assert "Running" in listed

        # A controller of one's own runs at once.
        newcomer.setpoint("new", "controller", "shop")
        terminal.until("controllers/shop.py loaded (shop)")
        assert "shop" in newcomer.setpoint("controllers")
        newcomer.setpoint("apply", "-f", "demo/shop.yaml")
        newcomer.setpoint("wait", "--for=jsonpath={.status.text}", "--timeout=30s", "shop/first")
        assert "shop" in newcomer.setpoint("trace", "shop/first", "--last")
        newcomer.setpoint("test")

        # A mistake in it is told where one looks, and the one before goes on.
        controller = newcomer.directory / "controllers" / "shop.py"
        good = controller.read_text()
        newcomer.saves("controllers/shop.py", f"{good}\nx = = 1\n")
        terminal.until("invalid syntax: x = = 1; the previous version is still running")
        newcomer.saves("controllers/shop.py", good)
        terminal.until(lambda text: text.count("controllers/shop.py loaded (shop)") == 2)
        assert "controllers/" not in newcomer.setpoint("history", "exe/web"), "the services are left alone"

        # The past is there, with who and why.
        history = newcomer.setpoint("history", "exe/web")
        first = history.splitlines()[-1].split()[0]
        assert "created" in history
        assert newcomer.setpoint("diff", "exe/web", first)
        assert "web" in newcomer.setpoint("at", first, "ps")

        terminal.press("\x03")
        terminal.until("nothing left running")
        assert terminal.ends() == 0

    assert Sessions.of(newcomer.environ).all() == []
    assert not any(str(newcomer.directory) in _directory(pid) for pid in ProcessTable().stats)


def _directory(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""
