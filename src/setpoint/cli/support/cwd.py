"""The directory that a command is called in."""

import os
from pathlib import Path

from setpoint.cli.support.errors import NOT_FOUND, Failure


def here() -> Path:
    """One that was removed is still known to the shell: an app that runs there can be asked about, and ended. Raises
    Failure."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        if known := os.environ.get("PWD"):
            return Path(known)
        raise Failure("the directory you are in was removed; go to another one", NOT_FOUND) from None
