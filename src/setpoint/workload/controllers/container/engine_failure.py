"""What objects say that need a container engine, while there is none or it fails."""

from setpoint.workload.engine.choice import Unavailable
from setpoint.workload.engine.errors import EngineError


def told_trouble(found: Unavailable | None) -> tuple[str, str]:
    """The reason and message of a condition; None: an engine is being looked for."""
    if found is None:
        return "LookingForEngine", "a container engine is being looked for"
    return f"Engine{found.reason}", f"{found.message}; {found.remedy}"


def words_of(error: EngineError) -> str:
    """What went wrong and what to do about it."""
    return f"{error.message}; {error.remedy}" if error.remedy else error.message
