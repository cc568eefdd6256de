"""What a client calls itself: `setpoint/<version> (<os>/<architecture>)`."""

import os
import sys
from functools import cache

from setpoint.version import VERSION

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@cache
def user_agent() -> str:
    """The text of the User-Agent header."""
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"setpoint/{VERSION} ({sys.platform}/{_ARCHITECTURES.get(machine, machine)})"
