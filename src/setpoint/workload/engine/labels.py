"""The labels of resources that we create in an engine: DCP's own, so that its tools and ours recognize each other's
resources. No I/O."""

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
# The control plane that created the resource, by the cookie of its processes: the guardian removes resources by this
# label.
SESSION = "setpoint.dev/session"
# The app of the resource, independent of the control plane.
WORKLOAD = "setpoint.dev/workload"


def maker(*, pid: int, started: str, persistent: bool, session: str = "") -> dict[str, str]:
    """Returns the labels that identify the creator, so that resources of a dead creator can be removed unless
    persistent."""
    made = {
        CREATOR_PROCESS_ID: str(pid),
        CREATOR_PROCESS_START_TIME: started,
        PERSISTENT: "true" if persistent else "false",
    }
    return {**made, SESSION: session} if session else made


def resource_labels(
    *, group_version: str, name: str, uid: str, lifecycle_key: str = "", build: str = ""
) -> dict[str, str]:
    """Returns the labels that identify the object of a resource."""
    labels = {GROUP_VERSION: group_version, NAME: name, UID: uid, LIFECYCLE_KEY: lifecycle_key, BUILD: build}
    return {label: value for label, value in labels.items() if value}


def is_persistent(labels: Mapping[str, str]) -> bool:
    """Returns True if a resource outlives its creator."""
    return labels.get(PERSISTENT) == "true"
