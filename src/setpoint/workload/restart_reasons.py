"""The texts in which statuses report the reason of a restart, and the changed file that such a text names."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

REQUESTED = "a restart was requested"
_PROBE = "the liveness probe "
_changed = re.compile(r"(?P<path>.+?)(?: and (?P<more>\d+) more)? changed", re.DOTALL).fullmatch


class ChangedFiles(NamedTuple):
    """The first changed file, and the number of the others."""

    path: str
    more: int = 0


def files_text(files: Sequence[str], directory: str | os.PathLike[str]) -> str:
    """Returns the first file, relative to a directory, and the number of the others."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{os.path.relpath(files[0], directory)}{more}"


def files_changed(files: Sequence[str], directory: str | os.PathLike[str]) -> str:
    """Returns the reason of a restart after changes of files."""
    return f"{files_text(files, directory)} changed"


def probe_failed(name: str, reason: str) -> str:
    """Returns the reason of a restart after failures of a liveness probe."""
    return f"{_PROBE}{name} failed: {reason}"


def changed_files(reason: str) -> ChangedFiles | None:
    """Returns the files that the reason of a restart names; None for any other reason."""
    found = None if reason.startswith(_PROBE) else _changed(reason)
    return None if found is None else ChangedFiles(found["path"], int(found["more"] or 0))
