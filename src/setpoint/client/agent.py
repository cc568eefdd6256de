"""The User-Agent of the client: `setpoint/<version> (<os>/<architecture>)`."""

import os
import sys
from functools import cache

from setpoint.version import VERSION

_ARCHITECTURES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@cache
def user_agent() -> str:
    """Returns the value of the User-Agent header."""
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"setpoint/{VERSION} ({sys.platform}/{_ARCHITECTURES.get(machine, machine)})"
