"""Actions on changes of files for a Container: copies into the container, restarts and rebuilds."""

from typing import Annotated, Literal, TypeAlias

from setpoint.schema.types import Duration, Int64, MaxItems, Minimum, MinItems, MinLength, NoDefault, rule
from setpoint.workload.kinds.kind_model import KindModel
from setpoint.workload.kinds.parts import Count, EnvVars, Flag, Moment, Span, Text

FileActionName: TypeAlias = Literal["Sync", "SyncAndRestart", "SyncAndExec", "Restart", "Rebuild"]


class SyncCommand(KindModel):
    """A command that runs in the container after a sync."""

    command: Annotated[list[str], MinItems(1)]
    """The program and its arguments."""

    user: Text = ""
    """The user of the command; the user of the container if empty."""

    working_directory: Text = ""
    """The working directory of the command; that of the container if empty."""

    env: EnvVars = []
    """Additional environment variables."""

    privileged: Flag = False
    """Runs the command in privileged mode."""


@rule(
    "!self.action.startsWith('Sync') || self.?target.orValue('').startsWith('/')",
    message="target must be an absolute path in the container for the actions that sync",
    reason="FieldValueRequired",
    field_path=".target",
)
@rule(
    "(self.action == 'SyncAndExec') == has(self.exec)",
    message="exec is required for the action SyncAndExec, and not allowed for the others",
    field_path=".exec",
)
class FileAction(KindModel):
    """Files on this machine, and the action on their changes."""

    path: Annotated[str, MinLength(1)]
    """The file, directory (recursively) or glob pattern, relative to the working directory of the control plane."""

    action: FileActionName = "Sync"
    """Sync copies changed files into the container, and removes deleted ones there; SyncAndRestart and SyncAndExec
    continue with a restart, or with the command `exec`. Rebuild also builds the image again, if the spec has a
    build."""

    target: Text = ""
    """The path in the container that corresponds to `path`."""

    ignore: list[str] = []
    """Patterns of ignored files, as in .gitignore."""

    include: list[str] = []
    """Patterns of the only files to consider; all files if empty."""

    initial_sync: Flag = False
    """Copies all files before the container starts."""

    exec: SyncCommand | None = None
    """The command of SyncAndExec."""

    debounce: Span = Duration(milliseconds=200)
    """The quiet period after the last change before the action."""


class SyncStatus(KindModel):
    """The observed syncs of the files of a container."""

    files: Count = 0
    """The number of files that were copied, since the start of the control plane."""

    removed: Count = 0
    """The number of files and directories that were removed."""

    bytes: Annotated[Int64, NoDefault(), Minimum(0)] = 0
    """The number of copied bytes."""

    last_sync_time: Moment = None
    """The time of the last sync."""


FileActions: TypeAlias = Annotated[list[FileAction], MaxItems(64)]
