"""The notifications of the system about changed files, shared by all watchers of a control plane."""

from typing import Protocol

from setpoint.machine.chosen import is_portable
from setpoint.workload.filewatch.inotify import Inotify, InotifyListener


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
