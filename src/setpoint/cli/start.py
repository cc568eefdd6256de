"""The program `setpoint`: the command, in a process of its own.

Nobody looks for garbage while a command starts, and what it leaves goes with its process: looking would take a fifth of
the time of a quick command. One that lasts collects its garbage as any program does: `connecting.run` sees to that, and
who runs for long without it turns the collector on by itself, as `serve` and `dcp` do.
"""

import atexit
import gc
import os
import sys

# As `failing` has it, which is not there yet.
_INTERRUPTED = 130


def start() -> None:
    """Runs the command that the arguments name, and ends the process."""
    gc.disable()
    atexit.register(gc.freeze)
    _open_closed()
    try:
        from setpoint.cli.main import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    main(prog_name="setpoint")


def _open_closed() -> None:
    """Who has closed an output (`>&-`) wants nothing of it; and no file of ours must get its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
