"""The program `setpoint`: the command, in a process of its own.

Nobody looks for garbage while a command starts, and what it leaves goes with its process: looking would take a fifth of
the time of a quick command. One that lasts collects its garbage as any program does: `connecting.run` sees to that, and
who runs for long without it turns the collector on by itself, as `serve` and `dcp` do.
"""

import atexit
import gc
import sys

# As `failing` has it, which is not there yet.
_INTERRUPTED = 130


def start() -> None:
    """Runs the command that the arguments name, and ends the process."""
    gc.disable()
    atexit.register(gc.freeze)
    try:
        from setpoint.cli.main import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    main(prog_name="setpoint")
