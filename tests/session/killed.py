"""A host that is killed: a control plane in a process of its own, recorded as a session, with processes that run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from setpoint.session.registry import Session, Sessions, session_id
from setpoint.workload.process.identity import identity_of
from setpoint.workload.process.process_table import ProcessTable
from setpoint.workload.process.session import GUARDIAN

_PATIENCE_SECONDS = 60


class Hosted:
    """A session that runs, and what a test does to it."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def cookies(self) -> dict[str, set[int]]:
        """Who carries a cookie of this session."""
        pid, started, _ = self.session.process.split(":")
        found = ProcessTable().cookies()
        return {cookie: pids for cookie, pids in found.items() if cookie.startswith(f"{pid}-{started}-")}

    def workers(self) -> set[int]:
        """The processes that it runs."""
        return {pid for cookie, pids in self.cookies().items() if not cookie.endswith(GUARDIAN) for pid in pids}

    def kill(self, *, guardian: bool) -> None:
        """Kills the host, and its guardian before it could do anything about that."""
        guardians = {pid for cookie, pids in self.cookies().items() if cookie.endswith(GUARDIAN) for pid in pids}
        if guardian:
            for pid in guardians:
                os.kill(pid, signal.SIGSTOP)
        os.kill(self.session.pid, signal.SIGKILL)
        eventually(lambda: not self.session.is_alive)
        if guardian:
            for pid in guardians:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: not any(identity_of(pid) and _is_guardian(pid, self) for pid in guardians))


def _is_guardian(pid: int, hosted: Hosted) -> bool:
    return any(pid in pids for cookie, pids in hosted.cookies().items() if cookie.endswith(GUARDIAN))


@contextmanager
def hosted(directory: Path, environ: Mapping[str, str], app: str = "shop", *, workers: int = 2) -> Iterator[Hosted]:
    """A session with so many processes that do nothing but run."""
    project = directory / app
    project.mkdir(parents=True, exist_ok=True)
    data = Sessions.of(environ).directory / session_id(app, str(project))
    data.mkdir(parents=True)
    with open(data / "host.log", "wb") as log:
        places = ("--store", f"sqlite:{data / 'store.sqlite3'}", "--kubeconfig", str(data / "kubeconfig"))
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "serve", "--workloads", "--listen", "127.0.0.1:0", *places],
            stdout=subprocess.PIPE,
            stderr=log,
            env=dict(environ),
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready "), (data / "host.log").read_text()
        identity = identity_of(process.pid)
        assert identity is not None
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        url = line.split()[1]
        session = Session(app, str(project), identity.text(), str(data / "kubeconfig"), url, "", started, str(data))
        Sessions.of(environ).add(session)
        found = Hosted(session)
        if workers:
            _run(session, environ, workers)
            eventually(lambda: len(found.workers()) >= workers)
        yield found
    finally:
        process.kill()
        process.wait(_PATIENCE_SECONDS)
        if process.stdout is not None:
            process.stdout.close()
        for pid in found.workers():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _run(session: Session, environ: Mapping[str, str], workers: int) -> None:
    items = [
        {
            "apiVersion": "usvc-dev.developer.microsoft.com/v1",
            "kind": "Executable",
            "metadata": {"name": f"worker-{number}"},
            "spec": {"executablePath": "/bin/sleep", "args": ["1000"]},
        }
        for number in range(workers)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    subprocess.run(
        [sys.executable, "-m", "setpoint", "apply", "-f", "-", "--kubeconfig", session.kubeconfig],
        input=text,
        env=dict(environ),
        text=True,
        check=True,
        capture_output=True,
    )


def eventually(holds: Callable[[], object]) -> None:
    """Returns when something holds."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.02)


class Disturbed(Exception):
    """Somebody else was quicker: whoever starts a control plane on this machine clears up after dead ones, too."""


def undisturbed(attempt: Callable[[int], None]) -> None:
    """Tries something with what dead control planes left until nobody else has cleared it away meanwhile."""
    for number in range(5):
        with suppress(Disturbed):
            attempt(number)
            return
    raise AssertionError("what was left had always gone before it was looked at")
