"""Ends the processes that the last run of an Executable left behind.

The children of a process may outlive the process and keep its port, its files and its locks. All of them end before a
successor starts: another run of the object, or another object of its controller (a retry of a task, a new replica).
Without a successor they keep running, because the process may have started a daemon; a stop and the deletion of the
object end them too.
"""

import asyncio
from collections.abc import Callable

from setpoint.workload.controllers.executable.lifecycle import Execution, should_restart, signal_of
from setpoint.workload.kinds.executable import Executable, ExecutableSpec

# The delay after which the status reports that children are still being ended.
REPORT_SECONDS = 0.25


def has_successor(obj: Executable, execution: Execution) -> bool:
    """Returns True if a process may follow the ended one: by the restart policy, a request, or the object's
    controller."""
    if execution.restarting or any(each.controller for each in obj.metadata.owner_references or ()):
        return True
    return should_restart(obj.spec, execution.exit_code)


def is_ended(spec: ExecutableSpec, execution: Execution, wake: Callable[[], None]) -> bool:
    """Starts to end the processes of the last run, and calls `wake` at their end. Returns True if all have ended;
    `execution.not_ended` then lists those that could not be ended."""
    if execution.left_behind is None:
        return True
    if execution.ending is None:
        run, how = execution.left_behind, (signal_of(spec.stop_signal), spec.stop_timeout.total_seconds())
        execution.not_ended = ""
        execution.ending = asyncio.ensure_future(run.stop(*how))
        execution.ending.add_done_callback(lambda _: wake())
    if not execution.ending.done():
        return False
    error = execution.ending.exception()
    execution.not_ended = str(error) if error is not None else execution.ending.result()
    execution.left_behind = execution.ending = None
    return True
