"""The watched paths, and the files ignored by default. No I/O.

Paths are files, directories (recursively), or globs (`src/**/*.py`). Ignored files are patterns as in .gitignore.
"""

import os
import re
from typing import NamedTuple

from setpoint.workload.ignore_patterns import path_pattern

# Files of version control, package managers and Python, and temporary files of editors.
DEFAULT_IGNORED = (
    *(".git/", ".hg/", ".svn/", "node_modules/", "__pycache__/", "*.pyc", ".DS_Store"),
    *("*~", "*.sw[opx]", ".#*", r"\#*#", "4913", ".goutputstream-*", "*___jb_tmp___", "*___jb_old___"),
)
_GLOB = re.compile(r"[*?\[]")


class Root(NamedTuple):
    """A watched path: all files below `base`, or those that match the pattern. Neither has a slash at the end."""

    base: str
    pattern: re.Pattern[str] | None = None
    # True: subdirectories are included.
    deep: bool = True

    def below(self, path: str) -> str | None:
        """Returns the path relative to the root, empty for the root itself; None if the path is outside."""
        if path == self.base:
            return ""
        start = "/" if self.base == "/" else f"{self.base}/"
        return path[len(start) :] if path.startswith(start) else None


def root_of(text: str, directory: str) -> Root:
    """Returns the root of a path or glob, relative to a directory."""
    path = os.path.normpath(os.path.join(directory, os.path.expanduser(text)))
    if not _GLOB.search(text):
        return Root(path)
    parts = path.split("/")
    first = next(index for index, part in enumerate(parts) if _GLOB.search(part))
    rest = "/".join(parts[first:])
    return Root("/".join(parts[:first]) or "/", path_pattern(rest), "/" in rest or "**" in rest)
