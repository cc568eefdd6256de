"""Reads the environment of a process that may replace its program.

While the kernel replaces the program of a process (`execve`), the process has neither arguments nor an environment for
some microseconds. A reader that takes the empty environment for the real one loses a process of a workload.
"""

import time
from collections.abc import Callable

# A replacement takes microseconds; on a crowded machine the process may wait for a processor in between.
TRIES = 50
PAUSE_SECONDS = 0.0005


def settled_environment(environment: Callable[[], bytes], has_arguments: Callable[[], bool]) -> bytes:
    """Returns the environment after the replacement of a program; empty if the process has none.

    Only a process with arguments before and after the reading is certain to have no environment. `has_arguments` is
    also true for processes that never have arguments.
    """
    found = environment()
    if found:
        return found
    for _ in range(TRIES):
        is_settled = has_arguments()
        if (found := environment()) or (is_settled and has_arguments()):
            return found
        time.sleep(PAUSE_SECONDS)
    return b""
