"""The programs that `make oracle` builds into `build/peers`."""

import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PEERS = Path(__file__).parents[2] / "build" / "peers"
START_SECONDS = 90.0
STOP_SECONDS = 10.0


def missing(*names: str) -> list[str]:
    """The programs that are not built."""
    return [name for name in names if not (PEERS / name).is_file()]


def free_port() -> int:
    """A port of the loopback address that no process uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Program:
    """A running peer. Its output goes to a file named after the program in the given directory."""

    def __init__(self, name: str, flags: Sequence[str], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(PEERS / name), *flags], stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=directory
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Waits until the function returns true. Raises RuntimeError if the program ends or takes too long."""
        end = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None or time.monotonic() > end:
                state = "is not ready" if self._process.poll() is None else f"ended with {self._process.returncode}"
                self.stop()
                raise RuntimeError(f"{self.name} {state}; the end of its log:\n{self.tail()}")
            time.sleep(0.1)

    def tail(self, size: int = 3000) -> str:
        return self.log.read_text(errors="replace")[-size:]

    def stop(self) -> None:
        """Stops the program; kills the process if SIGTERM does not end the program in time."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
