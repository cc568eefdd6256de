"""The demo without interaction: prints and runs one command after the other."""

import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from setpoint.cli.output.terminal import echo

_SETPOINT = "setpoint "
# The time limit for a broken part to fail, and for a repaired part to become ready.
_PATIENCE = "--timeout=30s"


class TourStep(NamedTuple):
    """A step: its description, its command, and a command to run silently before."""

    description: str
    command: str
    first: str = ""


_STEPS = (
    TourStep("Start the app of this directory and wait until all parts are ready:", "setpoint up --detach"),
    TourStep("List the workloads:", "setpoint ps"),
    TourStep(
        "Run a task of the app. The task places an order and waits until the worker has packed the order:",
        "setpoint run test",
    ),
    TourStep(
        "Break the API. Its file is watched, so that an edit restarts the API:",
        """sed -i '1i raise RuntimeError("out of milk")' api.py""",
    ),
    TourStep(
        "Show the failure and its cause:",
        "setpoint why api",
        f"setpoint wait exe -l setpoint.dev/part=api --for=jsonpath={{.status.lastExitCode}}=1 {_PATIENCE}",
    ),
    TourStep("Undo the edit:", "sed -i 1d api.py"),
    TourStep("", "setpoint ps", f"setpoint wait exers/api {_PATIENCE}"),
)
_DOWN = TourStep("Stop the app and check that no process is left:", "setpoint down")


def run(place: Path) -> int:
    """Runs all steps and returns the exit code of the first failed command. Always stops the app."""
    # SIGTERM ends the tour and stops the app.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = 0
    try:
        for step in _STEPS:
            failed = failed or _run(step, place)
    finally:
        with suppress(BrokenPipeError):  # the reader has closed the pipe
            _print_step(_DOWN)
        failed = _do(_DOWN.command, place) or failed
    return failed


def _run(step: TourStep, place: Path) -> int:
    if step.first:
        subprocess.run(_program(step.first), cwd=place, stdout=subprocess.DEVNULL)
    _print_step(step)
    code = _do(step.command, place)
    echo()
    return code


def _print_step(step: TourStep) -> None:
    if step.description:
        echo(f"# {step.description}")
    echo(f"$ {step.command}")
    sys.stdout.flush()


def _do(command: str, place: Path) -> int:
    return subprocess.run(_program(command), cwd=place).returncode


def _program(command: str) -> list[str]:
    """Returns the program to run: our own command on this Python, any other command in a shell."""
    if command.startswith(_SETPOINT):
        return [sys.executable, "-m", "setpoint", *shlex.split(command)[1:]]
    return ["sh", "-c", command]
