"""The process layer of this process."""

import os
import sys

from setpoint.machine.layer import Layer, Problem

SWITCH = "SETPOINT_PORTABLE"


def choose(platform: str, switch: str) -> Layer:
    """Returns the layer for a platform; `switch` is the value of the environment variable. Imports only this layer,
    because short commands import the layer, too."""
    if platform == "linux" and switch in ("", "0"):
        from setpoint.machine import linux

        return linux
    from setpoint.machine import portable

    return portable


system: Layer = choose(sys.platform, os.environ.get(SWITCH, ""))
is_portable = system.NAME == "portable"


def problem(platform: str = sys.platform) -> Problem | None:
    """Returns the reason why processes and containers cannot run on this machine, or None."""
    if platform == "win32":
        return Problem(
            "processes cannot run on Windows", "run Setpoint in WSL: https://learn.microsoft.com/windows/wsl"
        )
    return system.problem()
