"""Patterns of ignored files as in `.gitignore` and `.dockerignore`: one implementation, two dialects. No I/O.

|                        | git                                        | Docker                                    |
|------------------------|--------------------------------------------|-------------------------------------------|
| a name without a slash | lies anywhere                              | lies at the root                          |
| `**`                   | any depth, where it is a whole name        | any depth                                 |
| a slash at the end     | directories only                           | does not matter                           |
| `!`                    | not below a directory that is ignored      | takes anything back                       |
| negated classes        | `[!a]` and `[^a]`                          | `[^a]`                                    |

In both the last matching pattern decides, and a directory includes all files below.
"""

import posixpath
import re
import string
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

_SPECIAL = "*?[\\"
_NAMED_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class IgnorePattern(NamedTuple):
    """One pattern."""

    pattern: re.Pattern[str]
    ignores: bool
    directories_only: bool = False


class Ignored(NamedTuple):
    """The patterns of a file, in order. Paths are relative to the directory of the file, with slashes."""

    rules: tuple[IgnorePattern, ...] = ()
    # As in git: files below an ignored directory cannot be included again.
    is_final: bool = False
    # If not empty, files that match none of these patterns are ignored.
    only: tuple[IgnorePattern, ...] = ()

    @property
    def has_exceptions(self) -> bool:
        """True if a file in an ignored directory may be included again."""
        return not self.is_final and any(not rule.ignores for rule in self.rules)

    def __call__(self, path: str, *, is_directory: bool = False) -> bool:
        """Returns True if a path, or a directory above, is ignored."""
        if not self.is_final:
            return self._last_match(path, is_directory)
        above = [path[:place] for place, character in enumerate(path) if character == "/"]
        if any(self._last_match(each, True) for each in above) or self._last_match(path, is_directory):
            return True
        if is_directory or not self.only:
            return False
        return not any(rule.pattern.fullmatch(each) for rule in self.only for each in (path, *above))

    def _last_match(self, path: str, is_directory: bool) -> bool:
        for rule in reversed(self.rules):
            if (is_directory or not rule.directories_only) and rule.pattern.fullmatch(path):
                return rule.ignores
        return False


def by_git(lines: Iterable[str], only: Iterable[str] = ()) -> Ignored:
    """Parses the patterns of a `.gitignore`, and the patterns of the only files that are not ignored. Raises
    ValueError."""
    return Ignored(_git_rules(lines), is_final=True, only=_git_rules(only))


def by_docker(text: str) -> Ignored:
    """Parses the patterns of a `.dockerignore`. Raises ValueError."""
    lines = text.removeprefix("\ufeff").split("\n")
    return Ignored(tuple(rule for line in lines if (rule := _docker_rule(line)) is not None))


def path_pattern(glob: str) -> re.Pattern[str]:
    """Returns the pattern of a glob in git's dialect, relative to its own directory. Raises ValueError."""
    return _compiled(glob, _git_parts(glob, is_path=True))


def _git_rules(lines: Iterable[str]) -> tuple[IgnorePattern, ...]:
    return tuple(rule for line in lines if (rule := _git_rule(line)) is not None)


def _git_rule(line: str) -> IgnorePattern | None:
    stripped = line.rstrip()
    glob = f"{stripped} " if stripped.endswith("\\") and len(line) > len(stripped) else stripped
    if not glob or glob.startswith("#"):
        return None
    ignores = not glob.startswith("!")
    glob = glob.removeprefix("!")
    directories_only = glob.endswith("/")
    glob = glob.removesuffix("/")
    is_path = "/" in glob
    glob = glob.removeprefix("/")
    if not glob:
        return None
    parts = chain(() if is_path else ("(?:.*/)?",), _git_parts(glob, is_path=is_path))
    return IgnorePattern(_compiled(line, parts), ignores, directories_only)


def _docker_rule(line: str) -> IgnorePattern | None:
    glob = "" if line.startswith("#") else line.strip()
    if not glob:
        return None
    ignores = not glob.startswith("!")
    glob = glob.removeprefix("!").strip()
    if not glob:
        raise ValueError(f"{line.strip()!r} has no pattern; add one after the exclamation mark")
    glob = posixpath.normpath(glob).lstrip("/")
    return IgnorePattern(_compiled(line, chain(_docker_parts(glob), ("(?:/.*)?",))), ignores)


def _compiled(text: str, parts: Iterable[str]) -> re.Pattern[str]:
    try:
        return re.compile("".join(parts), re.DOTALL)
    except (ValueError, re.error) as error:
        raise ValueError(f"invalid pattern {text.strip()!r}: {error}") from None


def _git_parts(glob: str, *, is_path: bool) -> Iterator[str]:
    # git compares the part before the first special character separately, and then treats `**` as the start of a name.
    begins = next((place for place, character in enumerate(glob) if character in _SPECIAL), 0)
    at = 0
    while at < len(glob):
        stars = _stars(glob, at)
        after = at + stars
        is_name = (at in (0, begins) or glob[at - 1] == "/") and glob[after : after + 1] in ("", "/")
        if stars > 1 and is_path and is_name:
            yield "(?:.*/)?" if after < len(glob) else ".*"
            at = after + 1
        elif stars:
            yield "[^/]*"
            at = after
        elif glob[at] == "[":
            text, at = _class(glob, at + 1, negations="!^", is_git=True)
            yield f"(?!/){text}"
        else:
            text, at = _character(glob, at)
            yield text


def _docker_parts(glob: str) -> Iterator[str]:
    at = 0
    if glob.startswith("**") and glob[2:3] != "/" and not any(character in glob[2:] for character in (*_SPECIAL, "]")):
        # Only in this case Docker compares suffixes.
        yield ".*"
        at = 2
    while at < len(glob):
        if glob.startswith("**", at):
            at += 3 if glob[at + 2 : at + 3] == "/" else 2
            yield "(?:.*/)?" if at < len(glob) else ".*"
        elif glob[at] == "*":
            yield "[^/]*"
            at += 1
        elif glob[at] == "[":
            text, at = _class(glob, at + 1, negations="^", is_git=False)
            yield text
        else:
            text, at = _character(glob, at)
            yield text


def _stars(glob: str, at: int) -> int:
    return len(glob) - at - len(glob[at:].lstrip("*"))


def _character(glob: str, at: int) -> tuple[str, int]:
    """Returns the expression of one character, or of any character."""
    if glob[at] == "?":
        return "[^/]", at + 1
    if glob[at] == "\\":
        at += 1
    if at == len(glob):
        raise ValueError("a backslash at the end escapes no character")
    return re.escape(glob[at]), at + 1


def _class(glob: str, at: int, *, negations: str, is_git: bool) -> tuple[str, int]:
    """Returns the expression of a character class, and the position after it."""
    sign = ""
    if glob[at : at + 1] and glob[at] in negations:
        sign, at = "^", at + 1
    start, found = at, ""
    while glob[at : at + 1] != "]" or (is_git and at == start):
        if is_git and glob.startswith("[:", at) and (end := glob.find(":]", at)) > 0:
            if glob[at + 2 : end] not in _NAMED_CLASSES:
                raise ValueError(f"unknown class {glob[at : end + 2]}")
            found, at = found + re.escape(_NAMED_CLASSES[glob[at + 2 : end]]), end + 2
            continue
        low, at = _member(glob, at, is_git=is_git)
        high = low
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] != "]":
            high, at = _member(glob, at + 1, is_git=is_git)
        found += f"{re.escape(low)}-{re.escape(high)}"
    if not found:
        raise ValueError("a character class is empty")
    return f"[{sign}{found}]", at + 1


def _member(glob: str, at: int, *, is_git: bool) -> tuple[str, int]:
    if not is_git and glob[at : at + 1] == "-":
        raise ValueError("a hyphen in brackets must be between two characters, or escaped")
    at += glob[at : at + 1] == "\\"
    if at >= len(glob):
        raise ValueError("a bracket is not closed")
    return glob[at], at + 1
