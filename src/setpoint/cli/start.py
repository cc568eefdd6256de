"""The entry point of the program `setpoint`: runs one command in its own process.

Garbage collection is off while a command starts, because a collection would take a fifth of the time of a short
command, and the process frees its memory on exit anyway. Long-running commands turn the collector on: `connection.run`
does so, and commands that do not use `connection.run` (`serve`, `dcp`) call `gc.enable` themselves.
"""

import atexit
import gc
import os
import sys

# The same value as in `cli.support.errors`, which is not imported yet.
_INTERRUPTED = 130


def start() -> None:
    """Runs the command that the arguments name and exits the process."""
    gc.disable()
    atexit.register(gc.freeze)
    _open_closed()
    try:
        from setpoint.cli.main import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    main(prog_name="setpoint")


def _open_closed() -> None:
    """Opens the null device for closed standard streams (`>&-`), so that no later file gets their descriptor."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
