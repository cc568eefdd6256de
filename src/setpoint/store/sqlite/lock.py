"""The lock of a store's file, and the revision up to which its holder acknowledged.

There are two locks of the operating system (`flock`), which end with their holder, also after a crash: one on the
store's file itself, so that another name of the same file (a hard link) does not bypass the lock; one on a small file
beside the store, whose text names the holder. A clean close removes the small file. An unlocked small file was left by
a holder that died: the revision in the file is the last one that was acknowledged as durable, and a store with a lower
revision has lost data.

SQLite itself takes `fcntl` locks on the store's file. They do not conflict with `flock`, but they are lost when any
descriptor of the file is closed: the descriptor of this lock is opened before SQLite's and closed after them.
"""

import fcntl
import os
import re
import sys
from pathlib import Path
from typing import Self

from setpoint.store.sqlite.errors import DiskFailed, InUse

_COMMAND = 200  # the part of a command line that is stored, in characters
# Options that carry a credential, with its value; and the user part of an address.
_CREDENTIAL = re.compile(
    r"(--?[\w-]*(?:token|password|passwd|secret|key)(?:=|\s+))\S+|(?<=://)[^\s/@]+@", re.IGNORECASE
)
_DIGITS = 20  # enough for any revision; the mark is always this long, so that it can be overwritten in place


class Lock:
    """The lock of one store file, held until it is released."""

    def __init__(self, path: Path, descriptor: int, acknowledged: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._file: int | None = None
        self.acknowledged = acknowledged  # as the previous holder left the file; 0 after a clean close

    @classmethod
    def acquire(cls, store: Path) -> Self:
        """Takes the lock of a store file. Raises InUse or DiskFailed."""
        path = store.with_name(store.name + ".lock")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise DiskFailed(f"{store} cannot be opened: {error}") from error
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 4096, _DIGITS + 1).decode(errors="replace").strip()
                os.close(descriptor)
                # The text may be of an older version, which wrote all of its arguments.
                raise InUse(store, masked(holder) or "another process") from None
            if _is_file(path, descriptor):
                break
            os.close(descriptor)  # the holder removed the file between the open and the lock
        acknowledged = os.pread(descriptor, _DIGITS, 0)
        lock = cls(path, descriptor, int(acknowledged) if acknowledged.isdigit() else 0)
        holder = f"process {os.getpid()} ({masked(' '.join(sys.orig_argv))[:_COMMAND]})"
        os.ftruncate(descriptor, _DIGITS + 1)
        os.pwrite(descriptor, holder.encode(errors="replace") + b"\n", _DIGITS + 1)
        lock.acknowledge(lock.acknowledged)
        return lock

    def lock_file(self, store: Path) -> None:
        """Locks the store's file itself, under any of its names. Raises InUse or DiskFailed."""
        try:
            self._file = os.open(store, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(store, "another process, which opened the same file under another name") from None
        except OSError as error:
            raise DiskFailed(f"{store} cannot be locked: {error}") from error

    def acknowledge(self, revision: int) -> None:
        """Records that all revisions up to this one are durable. Not synced: the record must survive the process, not
        the machine."""
        os.pwrite(self._descriptor, b"%0*d\n" % (_DIGITS, revision), 0)

    def release(self, *, clean: bool) -> None:
        """Releases the lock; a clean close also removes the small file."""
        if clean:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        if self._file is not None:
            os.close(self._file)


def masked(command: str) -> str:
    """Returns a command line without credentials, for messages that name the process that holds a file."""
    return _CREDENTIAL.sub(lambda match: f"{match[1]}***" if match[1] else "***@", command)


def _is_file(path: Path, descriptor: int) -> bool:
    """Returns True if the open file is still the one under that path."""
    ours = os.fstat(descriptor)
    try:
        theirs = path.stat()
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)
