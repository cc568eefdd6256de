"""What is said between a control plane and an IDE: DCP's protocol for run sessions, in JSON."""

from typing import Any, TypeAlias

import msgspec

from setpoint.workload.kinds.api_names import GROUP

LAUNCH_CONFIGURATIONS = f"executable.{GROUP}/launch-configurations"
# The versions of the protocol that are spoken here, the newest first.
VERSIONS = ("2025-10-01", "2024-04-23", "2024-03-03")
# What an IDE can launch that does not say so.
PROJECT = "project"


class Info(msgspec.Struct):
    """What an IDE says of itself."""

    protocols_supported: list[str] = []
    supported_launch_configurations: list[str] = []

    @property
    def version(self) -> str:
        """The newest version that both sides speak; empty where there is none."""
        return next((each for each in VERSIONS if each in self.protocols_supported), "")

    @property
    def launches(self) -> list[str]:
        return self.supported_launch_configurations or [PROJECT]


class Variable(msgspec.Struct):
    """An environment variable."""

    name: str
    value: str


class RunSession(msgspec.Struct, omit_defaults=True):
    """What an IDE is asked to run. Without arguments it takes those that it knows itself."""

    launch_configurations: msgspec.Raw
    env: list[Variable] = []
    args: list[str] = []


class Detail(msgspec.Struct):
    """What went wrong."""

    code: str = ""
    message: str = ""
    details: "list[Detail]" = []

    def __str__(self) -> str:
        said = ": ".join(each for each in (self.code, self.message) if each)
        return "; ".join(each for each in (said, *map(str, self.details)) if each)


class _Failure(msgspec.Struct):
    error: Detail = msgspec.field(default_factory=Detail)


class ProcessRestarted(msgspec.Struct, tag="processRestarted", tag_field="notification_type"):
    """The session has another process now."""

    session_id: str
    pid: int | None = None


class SessionTerminated(msgspec.Struct, tag="sessionTerminated", tag_field="notification_type"):
    """The session is over."""

    session_id: str
    exit_code: int | None = None
    pid: int | None = None


class ServiceLogs(msgspec.Struct, tag="serviceLogs", tag_field="notification_type"):
    """The process has said something."""

    session_id: str
    log_message: str = ""
    is_std_err: bool = False


class SessionMessage(msgspec.Struct, tag="sessionMessage", tag_field="notification_type"):
    """The IDE has something to say about the session."""

    session_id: str
    message: str = ""
    level: str = "info"
    code: str = ""
    details: list[Detail] = []

    def __str__(self) -> str:
        return f"{self.level}: {Detail(self.code, self.message, self.details)}"


Notification: TypeAlias = ProcessRestarted | SessionTerminated | ServiceLogs | SessionMessage

_notification: "msgspec.json.Decoder[Notification]" = msgspec.json.Decoder(Notification)


def notification(line: bytes) -> Notification:
    """What an IDE told. Raises ValueError for what is none, and for kinds of later versions."""
    return _notification.decode(line)


def failure(body: bytes) -> str:
    """What the body of a refusal says, for people."""
    try:
        return str(msgspec.json.decode(body, type=_Failure).error)
    except msgspec.DecodeError:
        return body[:500].decode("utf-8", "replace").strip()


def launch_types(text: str) -> list[str]:
    """The types of launch configurations that an annotation has. Raises ValueError, with the remedy."""
    example = '[{"type": "project", "project_path": "/app/web.csproj"}]'
    try:
        found: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(
            f"the annotation {LAUNCH_CONFIGURATIONS} is no JSON ({error}); it looks like {example}"
        ) from None
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) and "type" in each for each in found):
        raise ValueError(f"the annotation {LAUNCH_CONFIGURATIONS} must be a list of configurations like {example}")
    return [str(each["type"]) for each in found]
