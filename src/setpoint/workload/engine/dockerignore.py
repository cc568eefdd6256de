"""Which files a `.dockerignore` leaves out of a build's context, by Docker's rules: patterns of Go's `filepath.Match`
with `**`, rooted at the context, `!` takes back, the last one that matches wins, and what is below a directory that
matches matches too. Pure."""

import posixpath
import re
from typing import NamedTuple


class Ignored(NamedTuple):
    """A file's patterns."""

    patterns: tuple[tuple[re.Pattern[str], bool], ...] = ()
    # Whether any pattern takes something back: only then can something of an ignored directory be wanted.
    takes_back: bool = False

    def matches(self, path: str) -> bool:
        """Whether a path (with slashes, relative to the context) is left out."""
        ignored = False
        for pattern, takes_back in self.patterns:
            if takes_back == ignored and pattern.match(path):
                ignored = not takes_back
        return ignored


def parse(text: str) -> Ignored:
    """The patterns of a file."""
    patterns = []
    for line in text.removeprefix("\ufeff").splitlines():
        if line.startswith("#"):
            continue
        line = line.strip()
        takes_back = line.startswith("!")
        if takes_back:
            line = line[1:].strip()
        if not line:
            continue
        cleaned = posixpath.normpath(line).lstrip("/")
        if cleaned in ("", "."):
            continue
        patterns.append((re.compile(_expression(cleaned), re.DOTALL), takes_back))
    return Ignored(tuple(patterns), any(takes_back for _, takes_back in patterns))


def _expression(pattern: str) -> str:
    found, at = "", 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*" and pattern[at : at + 1] == "*":
            at += 1
            if pattern[at : at + 1] == "/":
                at += 1
                found += "(?:.*/)?"
            else:
                found += ".*"
        elif character == "*":
            found += "[^/]*"
        elif character == "?":
            found += "[^/]"
        elif character == "[":
            text, at = _class(pattern, at)
            found += text
        elif character == "\\" and at < len(pattern):
            found += re.escape(pattern[at])
            at += 1
        else:
            found += re.escape(character)
    return f"{found}(?:/.*)?\\Z"


def _class(pattern: str, at: int) -> tuple[str, int]:
    """A class of characters, from behind its bracket; one without an end is a bracket like any other character."""
    end = pattern.find("]", at + (2 if pattern[at : at + 1] == "^" else 1))
    if end < 0:
        return r"\[", at
    inside = pattern[at:end]
    negated = inside.startswith("^")
    inside = re.sub(r"\\(.)", r"\1", inside.removeprefix("^")).replace("\\", r"\\").replace("[", r"\[")
    inside = inside.replace("^", r"\^")
    return f"[{'^' if negated else ''}{inside}]", end + 1
