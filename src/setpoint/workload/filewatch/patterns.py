"""The paths that are watched, and what is ignored below them by default. All of it is pure.

Paths are files, directories with all below them, or globs (`src/**/*.py`). What is ignored is written as in .gitignore.
"""

import os
import re
from typing import NamedTuple

from setpoint.workload.ignore_patterns import path_pattern

# What nobody means: what version control, package managers and Python keep for themselves, and editors' leavings.
DEFAULT_IGNORED = (
    *(".git/", ".hg/", ".svn/", "node_modules/", "__pycache__/", "*.pyc", ".DS_Store"),
    *("*~", "*.sw[opx]", ".#*", r"\#*#", "4913", ".goutputstream-*", "*___jb_tmp___", "*___jb_old___"),
)
_GLOB = re.compile(r"[*?\[]")


class Root(NamedTuple):
    """A path that is watched: all below `base`, or what of it the pattern matches. Both have no slash at the end."""

    base: str
    pattern: re.Pattern[str] | None = None
    # Whether directories below it count as well.
    deep: bool = True

    def below(self, path: str) -> str | None:
        """The path from here on, empty for the root itself; None where it is elsewhere."""
        if path == self.base:
            return ""
        start = "/" if self.base == "/" else f"{self.base}/"
        return path[len(start) :] if path.startswith(start) else None


def root_of(text: str, directory: str) -> Root:
    """The root that a path or glob, relative to a directory, means."""
    path = os.path.normpath(os.path.join(directory, os.path.expanduser(text)))
    if not _GLOB.search(text):
        return Root(path)
    parts = path.split("/")
    first = next(index for index, part in enumerate(parts) if _GLOB.search(part))
    rest = "/".join(parts[first:])
    return Root("/".join(parts[:first]) or "/", path_pattern(rest), "/" in rest or "**" in rest)
