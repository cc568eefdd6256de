"""Labels on what we make in an engine: DCP's own, so that its tools and ours know each other's things. Pure."""

from collections.abc import Mapping

PREFIX = "com.microsoft.developer.usvc-dev."
BUILD = f"{PREFIX}build"
GROUP_VERSION = f"{PREFIX}group-version"
NAME = f"{PREFIX}name"
UID = f"{PREFIX}uid"
LIFECYCLE_KEY = f"{PREFIX}lifecycle-key"
PERSISTENT = f"{PREFIX}persistent"
CREATOR_PROCESS_ID = f"{PREFIX}creatorProcessId"
CREATOR_PROCESS_START_TIME = f"{PREFIX}creatorProcessStartTime"
# Which control plane made it, by the cookie that its processes carry too: what a guardian looks for.
SESSION = "setpoint.dev/session"
# Whose app it is of, whichever control plane made it.
WORKLOAD = "setpoint.dev/workload"


def maker(*, pid: int, started: str, persistent: bool, session: str = "") -> dict[str, str]:
    """Labels that tell who made a thing: what a dead maker left, and was not to stay, can be removed."""
    made = {
        CREATOR_PROCESS_ID: str(pid),
        CREATOR_PROCESS_START_TIME: started,
        PERSISTENT: "true" if persistent else "false",
    }
    return {**made, SESSION: session} if session else made


def thing(*, group_version: str, name: str, uid: str, lifecycle_key: str = "", build: str = "") -> dict[str, str]:
    """Labels that tell which object a thing belongs to."""
    told = {GROUP_VERSION: group_version, NAME: name, UID: uid, LIFECYCLE_KEY: lifecycle_key, BUILD: build}
    return {label: value for label, value in told.items() if value}


def is_persistent(labels: Mapping[str, str]) -> bool:
    """Whether a thing outlives who made it."""
    return labels.get(PERSISTENT) == "true"
