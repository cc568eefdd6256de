"""A fast reader for the simplest YAML, as Go programs write configuration files: block maps and lists of plain words.

Such a text is read in far less time than importing the full YAML library takes. `read` returns the same as
`yamltext.load`, or None if the text uses syntax beyond this subset.
"""

import re

from setpoint.objects.tree import Json, Object

_LINE = re.compile(r"( *+)((?:- )*+)(.*)")
_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*):(?: ([^ ].*))?")
# A word that is certainly a string: begins with a letter or as a path does, or contains a letter that no number, date
# or time contains. A random token may begin with underscores and dashes.
_WORD = re.compile(
    r"[-_]*[A-Za-z/][A-Za-z0-9+/=_.@:-]*|[-_]*[0-9][A-Za-z0-9+/=_.@-]*[g-np-su-wyG-NP-SU-WY][A-Za-z0-9+/=_.@-]*"
)
_MEANT = {"true": True, "false": False, "{}": {}, "[]": []}
_OTHERWISE = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_MOST_INDENT = 40


class _OtherError(Exception):
    """The text uses syntax that only the full YAML reader supports."""


def read(text: str) -> Json | None:
    """Returns the tree of a simple text; None if the text needs the full reader."""
    try:
        lines = _lines(text)
        tree, rest = _block(lines, 0)
        return tree if rest == len(lines) else None
    except _OtherError:
        return None


def _lines(text: str) -> list[tuple[int, str]]:
    """Returns the lines with content, each with its indent. A map inside a list item begins a line of its own."""
    found: list[tuple[int, str]] = []
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or match[3] == "-":
            raise _OtherError
        indent, dashes, said = len(match[1]), match[2], match[3]
        for _ in range(len(dashes) // 2):
            found.append((indent, "-"))
            indent += 2
        found.append((indent, said))
        if indent > _MOST_INDENT:
            raise _OtherError
    return found


def _block(lines: list[tuple[int, str]], at: int) -> tuple[Json, int]:
    """Returns the value that begins at a line, and the index of the line after the value."""
    if at == len(lines):
        raise _OtherError
    indent, text = lines[at]
    if text == "-":
        items = []
        while at < len(lines) and lines[at] == (indent, "-"):
            item, at = _block(lines, at + 1)
            items.append(item)
        return items, at
    if _PAIR.fullmatch(text):
        return _map(lines, at, indent)
    return _scalar(text), at + 1


def _map(lines: list[tuple[int, str]], at: int, indent: int) -> tuple[Object, int]:
    found: Object = {}
    while at < len(lines) and lines[at][0] == indent and lines[at][1] != "-":
        pair = _PAIR.fullmatch(lines[at][1])
        if pair is None or pair[1] in found or pair[1].lower() in _OTHERWISE:
            raise _OtherError
        at += 1
        if pair[2] is not None:
            found[pair[1]] = _scalar(pair[2])
            continue
        # A list may have the same indent as its key.
        deeper = at < len(lines) and (lines[at][0] > indent or lines[at] == (indent, "-"))
        if not deeper:
            raise _OtherError
        found[pair[1]], at = _block(lines, at)
    return found, at


def _scalar(text: str) -> Json:
    if text in _MEANT:
        meant = _MEANT[text]
        return type(meant)() if isinstance(meant, dict | list) else meant
    if text.lower() in _OTHERWISE or text.endswith(":") or not _WORD.fullmatch(text):
        raise _OtherError
    return text
