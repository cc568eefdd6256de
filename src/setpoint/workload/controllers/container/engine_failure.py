"""Conditions of objects that need a container engine while the engine is unavailable or fails."""

from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.errors import EngineError


def problem_condition(found: Unavailable | None) -> tuple[str, str]:
    """Returns the reason and message of a condition. None: the search for an engine is in progress."""
    if found is None:
        return "LookingForEngine", "searching for a container engine"
    return f"Engine{found.reason}", f"{found.message}; {found.remedy}"


def error_text(error: EngineError) -> str:
    """Returns the error message of the engine, with the remedy if there is one."""
    return f"{error.message}; {error.remedy}" if error.remedy else error.message
