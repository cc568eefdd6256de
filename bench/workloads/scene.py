"""An app that a tool runs while measured: starts and ends the app, and receives the reports of its services."""

import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.workloads import accounts
from bench.workloads.tools import LAST, Plan, Tool, processor_seconds
from setpoint.workload.process.process_table import ProcessTable

_PATIENCE = 90.0


class Reports:
    """Receives a line with name and pid from each service that starts."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Open for writing, too, so that reading never reaches an end.
        self._descriptor = os.open(path, os.O_RDWR)
        self._data = b""
        self.pids: dict[str, int] = {}

    def wait(self, *names: str) -> None:
        """Waits until each of the names has reported again. Raises TimeoutError."""
        missing, deadline = set(names), time.monotonic() + _PATIENCE
        while missing:
            if not select.select([self._descriptor], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"not started after {_PATIENCE:g} s: {', '.join(sorted(missing)[:5])}")
            *lines, self._data = (self._data + os.read(self._descriptor, 1 << 16)).split(b"\n")
            for line in lines:
                name, pid = line.decode().split()
                self.pids[name] = int(pid)
                missing.discard(name)

    def close(self) -> None:
        os.close(self._descriptor)


class Scene:
    """A tool with its services."""

    def __init__(self, tool: Tool, plan: Plan, reports: Reports) -> None:
        self.tool, self.plan, self.reports = tool, plan, reports
        self._foreground: subprocess.Popen[bytes] | None = None

    def start(self, until: list[str]) -> tuple[float, float]:
        """Starts all services; returns the seconds until the named ones have reported, and the processor time."""
        began, spent = time.perf_counter(), 0.0
        with open(self.plan.directory / "output", "ab") as output:
            process = subprocess.Popen(
                self.tool.start(), cwd=self.plan.directory, env=self.plan.environ, stdout=output, stderr=output
            )
        self.reports.wait(*until)
        seconds = time.perf_counter() - began
        if self.tool.is_foreground():
            self._foreground = process
        else:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            spent = usage.ru_utime + usage.ru_stime
        return seconds, spent + self.spent()

    def spent(self) -> float:
        """Returns the processor time of the tool up to now, with the commands that its processes have run."""
        pids = self.processes()
        return accounts.seconds(pids) + accounts.seconds_of_children(pids)

    def processes(self) -> list[int]:
        return accounts.own_processes(str(self.plan.directory))

    def main_process(self, name: str) -> int:
        """Returns the process of the tool at the top of a service's ancestors."""
        own, stats = self.processes(), ProcessTable().stats
        above = [pid := stats[self.reports.pids[name]].parent]
        while stats[pid].parent in stats:
            above.append(pid := stats[pid].parent)
        return [pid for pid in above if pid in own][-1]

    def services(self) -> list[int]:
        return accounts.services(str(self.plan.directory))

    def reap(self) -> None:
        """Waits a moment, and removes the killed command that lasted as long as the services."""
        time.sleep(0.02)
        if self._foreground is not None:
            self._foreground.poll()

    def end(self) -> None:
        command = self.tool.stop()
        if command is not None and self.processes():
            with suppress(OSError):
                processor_seconds(command, self.plan)
        while left := [*self.processes(), *self.services()]:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.reap()


@contextmanager
def scene(tool: Tool, number: int, words: str = "", period: int = 1) -> Iterator[Scene]:
    """Prepares an app with a number of services, and ends the app afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        directory = Path(name)
        reports = Reports(directory / "reports")
        plan = Plan(directory, directory / "reports", _free_ports(number + 1), words, period)
        tool.write(plan)
        made = Scene(tool, plan, reports)
        try:
            yield made
        finally:
            made.end()
            reports.close()


def until_ready(tool: Tool, plan: Plan) -> list[str]:
    """Returns the services whose reports tell that the app is ready."""
    return [LAST] if tool.waits else plan.names


def _free_ports(number: int) -> list[int]:
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in found]
    for each in found:
        each.close()
    return ports
