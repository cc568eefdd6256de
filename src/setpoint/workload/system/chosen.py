"""The process layer of this process."""

import os
import sys

from setpoint.workload.system import linux, portable
from setpoint.workload.system.layer import Layer

SWITCH = "SETPOINT_PORTABLE"


def choose(platform: str, switch: str) -> Layer:
    """Returns the layer for a platform; `switch` is the value of the environment variable."""
    return linux if platform == "linux" and switch in ("", "0") else portable


system: Layer = choose(sys.platform, os.environ.get(SWITCH, ""))
is_portable = system.NAME == portable.NAME
