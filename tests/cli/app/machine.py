"""An environment in which nothing of this machine's user is found."""

import os
from pathlib import Path

_OTHERS = ("KUBECONFIG", "NO_COLOR", "FORCE_COLOR", "EDITOR", "VISUAL")


def own_environ(directory: Path) -> dict[str, str]:
    """Where sessions are kept in a directory of their own."""
    kept = {name: value for name, value in os.environ.items() if name not in _OTHERS}
    return {**kept, "XDG_STATE_HOME": str(directory), "HOME": str(directory)}
