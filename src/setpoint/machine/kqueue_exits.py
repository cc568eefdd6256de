"""Waits for the end of a process with kqueue, on macOS and BSD. Never executed by our tests: they run on Linux."""

import os
import select
from typing import Any

# The names of `select` that exist on these systems only.
_select: Any = select


def exit_descriptor(pid: int) -> int | None:
    """Returns a descriptor that becomes readable when the process ends; None if ended."""
    queue = _select.kqueue()
    event = _select.kevent(
        pid,
        filter=_select.KQ_FILTER_PROC,
        flags=_select.KQ_EV_ADD | _select.KQ_EV_ONESHOT,
        fflags=_select.KQ_NOTE_EXIT,
    )
    try:
        queue.control([event], 0)
        # The object closes its own descriptor.
        return os.dup(queue.fileno())
    except OSError:
        return None
    finally:
        queue.close()
