"""The entry point of the program `setpoint`: runs one command in its own process.

Garbage collection is off while a command starts, because a collection would take a fifth of the time of a short
command, and the process frees its memory on exit anyway. Long-running commands turn the collector on: `connection.run`
does so, and commands that do not use `connection.run` (`serve`, `dcp`) call `gc.enable` themselves.
"""

import atexit
import gc
import os
import sys

from setpoint.cli.resident.forward import forward
from setpoint.cli.resident.request import is_short

# The same value as in `cli.support.errors`, which is not imported yet.
_INTERRUPTED = 130


def start() -> None:
    """Runs the command that the arguments name and exits the process."""
    _open_closed()
    words = sys.argv[1:]
    short = is_short(words)
    if short and (code := forward(words)) is not None:
        sys.exit(code)
    gc.disable()
    atexit.register(gc.freeze)
    try:
        from setpoint.cli.main import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    try:
        main(prog_name="setpoint")
    finally:
        if short:
            _remain()


def _remain() -> None:
    """Leaves a resident process for the next commands if an app runs."""
    from setpoint.session.registry import Sessions

    sessions = Sessions.of(os.environ)
    if sessions.alive():
        from setpoint.cli.resident.server import remain
        from setpoint.objects.clock import SystemClock

        remain(sessions, SystemClock())


def _open_closed() -> None:
    """Opens the null device for closed standard streams (`>&-`), so that no later file gets their descriptor."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
