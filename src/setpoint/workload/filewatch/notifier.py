"""The notifications of the system about changed files, shared by all watchers of a control plane."""

import errno
from typing import Protocol

from setpoint.machine.chosen import is_portable
from setpoint.workload.filewatch.inotify import Inotify, InotifyListener

_INOTIFY_REMEDIES = {
    errno.ENOSPC: "raise fs.inotify.max_user_watches, or watch fewer directories",
    errno.EMFILE: "raise fs.inotify.max_user_instances",
}
_OTHER_REMEDIES = {
    errno.ENOSPC: "watch fewer directories",
    errno.EMFILE: "raise the limit of open files (`ulimit -n 8192`) before the start",
}


class Notifier(Protocol):
    """Notifies listeners of changes in directories, with the event masks of inotify."""

    def add(self, directory: str, listener: InotifyListener) -> None:
        """Notifies a listener of changes to the entries of a directory, without subdirectories. Raises OSError."""

    def remove(self, directory: str, listener: InotifyListener) -> None:
        """Ends the notifications of a listener."""

    def close(self) -> None:
        """Ends all notifications."""


def open_notifier() -> Notifier | OSError:
    """Returns the notifier of this system, or the error that prevents its use."""
    try:
        if is_portable:
            from setpoint.workload.filewatch.watchfiles_notifier import WatchfilesNotifier

            return WatchfilesNotifier()
        return Inotify()
    except OSError as error:
        return error


def remedy(error: OSError) -> str:
    """Returns the remedy for an error of the notifier."""
    known = _OTHER_REMEDIES if is_portable else _INOTIFY_REMEDIES
    return known.get(error.errno or 0, "check the system log")
