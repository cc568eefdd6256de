"""The record of a run: its number, times and revisions, how the run ended, and the state of each part at the end."""

from typing import Final, Literal, TypeAlias

from msgspec import Raw, Struct, to_builtins

from setpoint.objects.gvk import GroupResource
from setpoint.objects.tree import Object

# The manner in which a run ended; empty for a run that has not ended.
End: TypeAlias = Literal["", "Stopped", "TerminalGone", "Signal", "DirectoryDeleted", "Crashed"]
API_VERSION: Final = "setpoint.dev/v1"
CRASHED: Final = "Crashed"
FAILED: Final = "Failed"


class RunPart(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A part of the app at the end of a run. A purged part has only its names."""

    kind: str
    name: str
    resource: str
    group: str
    state: str = ""
    reason: str = ""
    ready: int = 0
    wanted: int = 0
    # The seconds from the creation of the object until the part was ready or finished first; None if never.
    ready_seconds: float | None = None
    restarts: int = 0
    # The last exit code of the part, or of its replicas or runs.
    exit_code: int | None = None
    purged: bool = False

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


class RunRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The record of one run of an app."""

    number: int
    # The UID of the log of revisions: revisions of other logs cannot be compared.
    log: str
    started: str
    first_revision: int
    ended: str = ""
    end: End = ""
    last_revision: int = 0
    # The app file and the enabled profiles.
    file: str = ""
    profiles: tuple[str, ...] = ()
    name: str = ""
    pinned: bool = False
    parts: tuple[RunPart, ...] = ()
    # The number of objects in the snapshot, or the reason why there is none.
    objects: int = 0
    omitted: str = ""

    @property
    def failed(self) -> int:
        """The number of failed parts."""
        return sum(part.state == FAILED for part in self.parts)


class RunObject(Struct, frozen=True, omit_defaults=True):
    """An object of a snapshot: its key in the store, its revision, and its JSON; none if purged."""

    key: str
    revision: int
    value: Raw = Raw()
    purged: bool = False

    @property
    def group_resource(self) -> GroupResource:
        return resource_of(self.key)


class RunContent(Struct, frozen=True):
    """A run with its objects."""

    record: RunRecord
    objects: tuple[RunObject, ...] = ()


def resource_of(key: str) -> GroupResource:
    """Returns the resource of a key of the store."""
    _, group, resource, *_ = key.split("/", 3)
    return GroupResource("" if group == "core" else group, resource)


def record_to_json(record: RunRecord, log: str) -> Object:
    """Returns a record in the form of the API. `log` is the UID of the current log of revisions."""
    return {
        "kind": "Run",
        "apiVersion": API_VERSION,
        "number": record.number,
        "current": not record.end,
        "name": record.name,
        "pinned": record.pinned,
        "started": record.started,
        "ended": record.ended,
        "end": record.end,
        "file": record.file,
        "profiles": list(record.profiles),
        "firstRevision": str(record.first_revision),
        "lastRevision": str(record.last_revision),
        "isInLog": record.log == log,
        "objects": record.objects,
        "omitted": record.omitted,
        "failed": record.failed,
        "parts": to_builtins(record.parts),
    }
