"""Refuses commands that start processes on machines where processes cannot run."""

from setpoint.cli.support.errors import Failure


def require_processes() -> None:
    """Raises Failure with a remedy if processes cannot run on this machine, for example on Windows."""
    from setpoint.machine.chosen import problem

    if (found := problem()) is not None:
        raise Failure(str(found))
