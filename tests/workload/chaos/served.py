"""A real `setpoint serve --workloads` that is made to be killed."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.workload.process.stage import wait_for_end

from setpoint.client.client import Client
from setpoint.workload.process.process_table import ProcessTable

_SECONDS = 60.0


class Served:
    """The control plane, as a process of its own. One life after the other uses the same files."""

    def __init__(self, folder: Path, engine: str = "") -> None:
        """`engine` is the address of the one that runs containers."""
        self._folder, self._engine = folder, engine
        self._kubeconfig = folder / "kubeconfig"
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self._process: subprocess.Popen[str] | None = None

    def start(self, seconds: float = _SECONDS) -> None:
        """Starts it, and returns when it serves."""
        places = {
            "XDG_STATE_HOME": str(self._folder / "state"),
            "TMPDIR": str(self._temporary),
            "DOCKER_HOST": self._engine,
        }
        with (self._folder / "errors").open("a") as errors:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "setpoint", "serve", "--workloads", "--listen", "127.0.0.1:0"),
                    *("--store", f"sqlite:{self._folder / 'store.db'}", "--kubeconfig", str(self._kubeconfig)),
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **places},
            )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else ""
        assert line.startswith("ready "), (self._folder / "errors").read_text()

    def client(self) -> Client:
        return Client.from_kubeconfig(self._kubeconfig)

    def kill(self) -> None:
        """Ends it as nothing should be ended, and returns when those who clean up after it have ended too."""
        process = self._life
        process.kill()
        process.wait()
        for guardian in self._guardians(process.pid):
            wait_for_end(guardian)
        self._close()

    def stop(self) -> int:
        """Asks it to end; its exit code."""
        process = self._life
        process.terminate()
        code = process.wait(_SECONDS)
        self._close()
        return code

    def end(self) -> None:
        """Sees that no test leaves it behind."""
        if self._process is not None:
            self.kill()

    def left_behind(self) -> list[str]:
        """What lives of it have left in the directory for temporary files."""
        return sorted(each.name for each in self._temporary.iterdir())

    @property
    def _life(self) -> "subprocess.Popen[str]":
        assert self._process is not None, "it does not run"
        return self._process

    def _close(self) -> None:
        if self._life.stdout is not None:
            self._life.stdout.close()
        self._process = None

    def _guardians(self, pid: int) -> Iterator[int]:
        for cookie, carriers in ProcessTable().cookies().items():
            session, _, who = cookie.partition("/")
            if f"{session}/{who}".startswith((f"{pid}-", f"kept/guardian-{pid}-")) and who.startswith("guardian"):
                yield from carriers
