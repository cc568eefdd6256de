"""The current working directory."""

import os
from pathlib import Path

from setpoint.cli.support.errors import NOT_FOUND, Failure


def here() -> Path:
    """Returns the working directory. If the directory was deleted, returns $PWD, so that its app can still be inspected
    and stopped. Raises Failure.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        if known := os.environ.get("PWD"):
            return Path(known)
        raise Failure("the current directory was deleted; change to another one", NOT_FOUND) from None
