"""The messages between a control plane and an IDE: DCP's protocol for run sessions, in JSON."""

from typing import Any, TypeAlias

import msgspec

from setpoint.workload.kinds.api_names import GROUP

LAUNCH_CONFIGURATIONS = f"executable.{GROUP}/launch-configurations"
# The supported versions of the protocol, the newest first.
VERSIONS = ("2025-10-01", "2024-04-23", "2024-03-03")
# The launch type of an IDE that does not list any.
PROJECT = "project"


class Info(msgspec.Struct):
    """The information about an IDE."""

    protocols_supported: list[str] = []
    supported_launch_configurations: list[str] = []

    @property
    def version(self) -> str:
        """The newest version that both sides support; empty if there is none."""
        return next((each for each in VERSIONS if each in self.protocols_supported), "")

    @property
    def launches(self) -> list[str]:
        return self.supported_launch_configurations or [PROJECT]


class Variable(msgspec.Struct):
    """An environment variable."""

    name: str
    value: str


class RunSession(msgspec.Struct, omit_defaults=True):
    """The request for a session. Without arguments the IDE uses those of the launch configuration."""

    launch_configurations: msgspec.Raw
    env: list[Variable] = []
    args: list[str] = []


class Detail(msgspec.Struct):
    """The details of an error."""

    code: str = ""
    message: str = ""
    details: "list[Detail]" = []

    def __str__(self) -> str:
        text = ": ".join(each for each in (self.code, self.message) if each)
        return "; ".join(each for each in (text, *map(str, self.details)) if each)


class _Failure(msgspec.Struct):
    error: Detail = msgspec.field(default_factory=Detail)


class ProcessRestarted(msgspec.Struct, tag="processRestarted", tag_field="notification_type"):
    """The session has a new process."""

    session_id: str
    pid: int | None = None


class SessionTerminated(msgspec.Struct, tag="sessionTerminated", tag_field="notification_type"):
    """The session has ended."""

    session_id: str
    exit_code: int | None = None
    pid: int | None = None


class ServiceLogs(msgspec.Struct, tag="serviceLogs", tag_field="notification_type"):
    """The process has printed output."""

    session_id: str
    log_message: str = ""
    is_std_err: bool = False


class SessionMessage(msgspec.Struct, tag="sessionMessage", tag_field="notification_type"):
    """A message of the IDE about the session."""

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
    """Returns a notification of an IDE. Raises ValueError for invalid messages, and for types of later versions."""
    return _notification.decode(line)


def failure(body: bytes) -> str:
    """Returns the error message in the body of a response."""
    try:
        return str(msgspec.json.decode(body, type=_Failure).error)
    except msgspec.DecodeError:
        return body[:500].decode("utf-8", "replace").strip()


def launch_types(text: str) -> list[str]:
    """Returns the types of the launch configurations in an annotation. Raises ValueError, with the remedy."""
    example = '[{"type": "project", "project_path": "/app/web.csproj"}]'
    try:
        found: Any = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(
            f"the annotation {LAUNCH_CONFIGURATIONS} is not valid JSON ({error}); expected e.g. {example}"
        ) from None
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) and "type" in each for each in found):
        raise ValueError(f"the annotation {LAUNCH_CONFIGURATIONS} must be a list of configurations, e.g. {example}")
    return [str(each["type"]) for each in found]
