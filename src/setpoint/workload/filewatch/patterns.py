"""Which files count: those below the paths that are watched, but for what is ignored. All of it is pure.

Paths are files, directories with all below them, or globs (`src/**/*.py`). What is ignored is written as in .gitignore.
"""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

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
    return Root("/".join(parts[:first]) or "/", re.compile(translate(rest)), "/" in rest or "**" in rest)


def translate(glob: str) -> str:
    """The regular expression of a glob: `*` and `?` stay within a name, `**` does not."""
    found, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            found, at = f"{found}(?:.*/)?", at + 3
        elif glob.startswith("**", at):
            found, at = f"{found}.*", at + 2
        elif glob[at] == "*":
            found, at = f"{found}[^/]*", at + 1
        elif glob[at] == "?":
            found, at = f"{found}[^/]", at + 1
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : end].replace("\\", r"\\")
            inside = f"^{inside[1:]}" if inside.startswith("!") else inside
            found, at = f"{found}[{inside}]", end + 1
        elif glob[at] == "\\" and at + 1 < len(glob):
            found, at = f"{found}{re.escape(glob[at + 1])}", at + 2
        else:
            found, at = f"{found}{re.escape(glob[at])}", at + 1
    return found


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    directories_only: bool
    ignores: bool


class Ignored:
    """What does not count, by patterns as .gitignore has them; later ones win. Raises ValueError."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._rules = [rule for text in patterns if (rule := _rule(text)) is not None]

    def __call__(self, relative: str, *, is_directory: bool = False) -> bool:
        """Whether a path, relative to its root, is ignored: itself, or because a directory that it is in is."""
        parts = relative.split("/")
        return any(
            self._matches("/".join(parts[: count + 1]), is_directory or count + 1 < len(parts))
            for count in range(len(parts))
        )

    def _matches(self, path: str, is_directory: bool) -> bool:
        for rule in reversed(self._rules):
            if (is_directory or not rule.directories_only) and rule.pattern.fullmatch(path):
                return rule.ignores
        return False


def _rule(text: str) -> _Rule | None:
    glob = text.strip()
    if not glob or glob.startswith("#"):
        return None
    ignores = not glob.startswith("!")
    glob = glob.removeprefix("!")
    directories_only = glob.endswith("/")
    glob = glob.rstrip("/")
    # A slash before the end says where it is; without one it may be anywhere.
    anchored = "/" in glob
    glob = glob.removeprefix("/")
    if not glob:
        return None
    try:
        return _Rule(re.compile(("" if anchored else "(?:.*/)?") + translate(glob)), directories_only, ignores)
    except re.error as error:
        raise ValueError(f"{text!r} is no pattern: {error}") from None
