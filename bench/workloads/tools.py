"""The measured tools: each runs the same services, described in a file of its own, and offers the same commands.

A service is a program that reports its start (`bench.workloads.service`). Tools with probes and dependencies also run
the service LAST, which waits until all others are ready.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from bench.workloads.accounts import MARK

LAST = "last"
_SERVICE = Path(__file__).parent / "service.py"


class Plan(NamedTuple):
    """The services of an app: their number, ports and words for the program, and the seconds between two probes."""

    directory: Path
    pipe: Path
    ports: Sequence[int]
    words: str = ""
    period: int = 1

    @property
    def names(self) -> list[str]:
        return [f"s{number}" for number in range(len(self.ports) - 1)]

    def command(self, name: str, port: int | str, words: str = "") -> str:
        # The base interpreter: a virtual environment would add the search for its configuration to each start.
        return f"{sys._base_executable} -I -S {_SERVICE} {name} {port} {self.pipe} {words or self.words}".rstrip()  # type: ignore[attr-defined]

    @property
    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONDONTWRITEBYTECODE", "KUBECONFIG")}
        return {
            **kept,
            MARK: str(self.directory),
            "HOME": str(self.directory),
            "XDG_STATE_HOME": str(self.directory / "state"),
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            "PYTHONPATH": str(_SERVICE.parents[2] / "src"),
            "PYTHONPYCACHEPREFIX": str(_SERVICE.parents[2] / "build" / "bench" / "compiled"),
        }


class Tool(Protocol):
    """A tool that runs services."""

    name: str
    # True for a tool with probes and dependencies: the service LAST starts when all others are ready.
    waits: bool

    def write(self, plan: Plan) -> None:
        """Writes the tool's file."""

    def start(self) -> list[str]:
        """Returns the command that starts all services."""

    def is_foreground(self) -> bool:
        """Returns True if the starting command lasts as long as the services."""

    def commands(self, name: str) -> dict[str, list[str]]:
        """Returns the commands that a user enters for a service, by their purpose: restart, ps, logs, why, up."""

    def stop(self) -> list[str] | None:
        """Returns the command that ends all services; None: a signal to the starting command does."""


class Setpoint:
    """`setpoint up -d` with an app file: processes, ports and probes."""

    name, waits = "setpoint", True

    def write(self, plan: Plan) -> None:
        lines = ["app: measured", "services:"]
        for name in plan.names:
            lines += [
                f"  {name}:",
                f"    run: {plan.command(name, '${port.http}')}",
                "    ports: { http: auto }",
                f"    ready: {{ http: /, every: {plan.period}s }}",
                "    restart: { on: always }",
            ]
        lines += [f"  {LAST}:", f"    run: {plan.command(LAST, plan.ports[-1], 'last')}", "    after:"]
        lines += [f"      {name}: ready" for name in plan.names]
        (plan.directory / "setpoint.yaml").write_text("\n".join(lines) + "\n")

    def start(self) -> list[str]:
        return self._command("up", "-d")

    def is_foreground(self) -> bool:
        return False

    def commands(self, name: str) -> dict[str, list[str]]:
        return {
            "restart": self._command("restart", name),
            "ps": self._command("ps"),
            "logs": self._command("logs", name, "--tail", "10"),
            "why": self._command("why", name),
            "up": self._command("up", "-d"),
        }

    def stop(self) -> list[str] | None:
        return self._command("down")

    @staticmethod
    def _command(*words: str) -> list[str]:
        return [sys.executable, "-m", "setpoint", *words]


class ProcessCompose:
    """`process-compose up -D` with probes and dependencies."""

    name, waits = "process-compose", True

    def __init__(self, program: Path) -> None:
        self._program = program

    def write(self, plan: Plan) -> None:
        self._directory = plan.directory
        lines = ['version: "0.5"', "processes:"]
        for name, port in zip(plan.names, plan.ports, strict=False):
            lines += [
                f"  {name}:",
                f"    command: exec {plan.command(name, port)}",
                f"    log_location: {plan.directory}/{name}.log",
                "    availability: { restart: always, backoff_seconds: 1 }",
                "    readiness_probe:",
                f"      http_get: {{ host: 127.0.0.1, port: {port}, path: / }}",
                f"      period_seconds: {plan.period}",
            ]
        lines += [f"  {LAST}:", f"    command: exec {plan.command(LAST, plan.ports[-1], 'last')}", "    depends_on:"]
        lines += [f"      {name}: {{ condition: process_healthy }}" for name in plan.names]
        (plan.directory / "process-compose.yaml").write_text("\n".join(lines) + "\n")

    def start(self) -> list[str]:
        return [*self._base(), "up", "-D", "-f", str(self._directory / "process-compose.yaml")]

    def is_foreground(self) -> bool:
        return False

    def commands(self, name: str) -> dict[str, list[str]]:
        return {
            "restart": [*self._base(), "process", "restart", name],
            "ps": [*self._base(), "process", "list", "-o", "wide"],
            "logs": [*self._base(), "process", "logs", name, "--tail", "10"],
        }

    def stop(self) -> list[str] | None:
        return [*self._base(), "down"]

    def _base(self) -> list[str]:
        place = self._directory
        return [str(self._program), "-U", "-u", str(place / "socket"), "-L", str(place / "log")]


class Supervisord:
    """`supervisord` with `supervisorctl`; without probes."""

    name, waits = "supervisord", False

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    def write(self, plan: Plan) -> None:
        place = plan.directory
        self._config = place / "supervisord.conf"
        self._config.write_text(
            f"[unix_http_server]\nfile={place}/socket\n[supervisorctl]\nserverurl=unix://{place}/socket\n"
            f"[supervisord]\nlogfile={place}/log\npidfile={place}/pid\nchildlogdir={place}\nminfds=2000\n"
            "[rpcinterface:supervisor]\n"
            "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface\n"
            + "".join(
                f"[program:{name}]\ncommand={plan.command(name, port)}\nautorestart=true\n"
                for name, port in zip(plan.names, plan.ports, strict=False)
            )
        )

    def start(self) -> list[str]:
        return [str(self._programs / "supervisord"), "-c", str(self._config)]

    def is_foreground(self) -> bool:
        return False

    def commands(self, name: str) -> dict[str, list[str]]:
        control = [str(self._programs / "supervisorctl"), "-c", str(self._config)]
        return {
            "restart": [*control, "restart", name],
            "ps": [*control, "status"],
            "logs": [*control, "tail", "-800", name],
        }

    def stop(self) -> list[str] | None:
        return [str(self._programs / "supervisorctl"), "-c", str(self._config), "shutdown"]


class Honcho:
    """`honcho start`: has no daemon, no probes and no commands."""

    name, waits = "honcho", False

    def __init__(self, programs: Path) -> None:
        self._programs = programs

    def write(self, plan: Plan) -> None:
        named = zip(plan.names, plan.ports, strict=False)
        self._file = plan.directory / "Procfile"
        self._file.write_text("".join(f"{name}: exec {plan.command(name, port)}\n" for name, port in named))

    def start(self) -> list[str]:
        return [str(self._programs / "honcho"), "start", "-f", str(self._file)]

    def is_foreground(self) -> bool:
        return True

    def commands(self, name: str) -> dict[str, list[str]]:
        return {}

    def stop(self) -> list[str] | None:
        return None


def processor_seconds(command: list[str], plan: Plan) -> float:
    """Runs a command and returns the processor time of it and its children. Raises OSError if the command fails."""
    with open(plan.directory / "output", "ab") as output:
        process = subprocess.Popen(command, cwd=plan.directory, env=plan.environ, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        text = (plan.directory / "output").read_text(errors="replace")
        raise OSError(f"{' '.join(command)} failed with {process.returncode}: {text[-800:]}")
    return usage.ru_utime + usage.ru_stime
