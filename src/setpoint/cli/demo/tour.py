"""The demo for those who only look on: command by command, each as one would type it, from the start to the end."""

import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from setpoint.cli.output.terminal import echo

_SETPOINT = "setpoint "
# How long what is broken may take to show it, and what is mended to be well again.
_PATIENCE = "--timeout=30s"


class Step(NamedTuple):
    """What comes next, in words and as a command; and what must be so before it makes sense."""

    says: str
    command: str
    first: str = ""


_STEPS = (
    Step("The app of this directory, from its file to the point where all of it is ready:", "setpoint up --detach"),
    Step("What runs:", "setpoint ps"),
    Step("A task of the app. It orders something, and waits until the worker has packed it:", "setpoint run test"),
    Step(
        "Now the API breaks. It is watched, so that an edit restarts it:",
        """sed -i '1i raise RuntimeError("out of milk")' api.py""",
    ),
    Step(
        "What happened, and why:",
        "setpoint why api",
        f"setpoint wait exe -l setpoint.dev/part=api --for=jsonpath={{.status.lastExitCode}}=1 {_PATIENCE}",
    ),
    Step("As it was:", "sed -i 1d api.py"),
    Step("", "setpoint ps", f"setpoint wait exers/api {_PATIENCE}"),
)
_DOWN = Step("The end, and a look whether it is true:", "setpoint down")


def take(place: Path) -> int:
    """Shows all of it. The exit code of the first command that failed; the app is ended in any case."""
    # Who ends the tour early ends the app, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    failed = 0
    try:
        for step in _STEPS:
            failed = failed or _run(step, place)
    finally:
        with suppress(BrokenPipeError):  # nobody looks on any more
            _tell(_DOWN)
        failed = _do(_DOWN.command, place) or failed
    return failed


def _run(step: Step, place: Path) -> int:
    if step.first:
        subprocess.run(_words(step.first), cwd=place, stdout=subprocess.DEVNULL)
    _tell(step)
    code = _do(step.command, place)
    echo()
    return code


def _tell(step: Step) -> None:
    if step.says:
        echo(f"# {step.says}")
    echo(f"$ {step.command}")
    sys.stdout.flush()


def _do(command: str, place: Path) -> int:
    return subprocess.run(_words(command), cwd=place).returncode


def _words(command: str) -> list[str]:
    """What runs: our own command on this Python, anything else in a shell."""
    if command.startswith(_SETPOINT):
        return [sys.executable, "-m", "setpoint", *shlex.split(command)[1:]]
    return ["sh", "-c", command]
