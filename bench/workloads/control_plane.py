"""A control plane (`setpoint serve --workloads`) for measures of its proxies."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setpoint.client.client import Client
from setpoint.client.loop import loop_factory
from setpoint.workload.process.process_table import ProcessTable

GROUP = "usvc-dev.developer.microsoft.com/v1"


class ControlPlane:
    """A control plane as a process of its own, and a client."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner = asyncio.Runner(loop_factory=loop_factory())

    def start(self) -> None:
        kubeconfig = self._folder / "kubeconfig"
        environment = {**os.environ, "XDG_STATE_HOME": str(self._folder), "TMPDIR": str(self._folder)}
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "setpoint", "serve", "--workloads", "--plain-http"),
                *("--listen", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith(b"ready ")
        self._client = Client.from_kubeconfig(kubeconfig)

    def apply(self, *objects: dict[str, Any]) -> None:
        """Creates other objects."""
        for each in objects:
            self._runner.run(self._client.create(each))

    def port_of(self, service: str) -> int:
        """Waits for the port of a Service and returns it."""
        found = self._runner.run(
            self._client.wait_for(
                f"{GROUP}/Service", service, until=lambda tree: bool((tree.get("status") or {}).get("effectivePort"))
            )
        )
        assert found is not None
        port: int = found["status"]["effectivePort"]
        return port

    def pids(self) -> list[int]:
        """Returns the control plane and its children."""
        children = [each.pid for each in ProcessTable().stats.values() if each.parent == self._process.pid]
        return [self._process.pid, *children]

    def stop(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def running(folder: Path) -> Iterator[ControlPlane]:
    """Starts a control plane, and ends it afterwards."""
    made = ControlPlane(folder)
    made.start()
    try:
        yield made
    finally:
        made.stop()
