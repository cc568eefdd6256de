"""Parses the commands of an app file: splits a text into a program and its arguments, by the rules of a shell.

A shell runs only commands that need one (pipes, `&&`, globs, `$NAME`, `cd`, ...). The values of references are then
passed as `$1`, `$2` and so on, in quotes: a value is always one word, and never interpreted, whatever characters a
password contains.
"""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from setpoint.app.references import ValueReference, parse

# Placeholders for references while the text is split: private-use characters.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_OPERATORS = frozenset("|&;<>()`$*?[\n")
_AT_WORD_START = frozenset("~#!")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Shell builtins; a program of the same name would behave differently.
_BUILTINS = frozenset(
    (
        ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "if",
        "read", "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit", "umask", "unset",
        "until", "wait", "while", "{",
    )
)  # fmt: skip

Word = Sequence[str | ValueReference]


class Command(NamedTuple):
    """A program and its arguments. The words may contain references."""

    words: Sequence[Word]


def command(run: str | Sequence[str]) -> Command:
    """Parses a text or list as a command. Raises BadReference, and ValueError for unclosed quotes."""
    if not isinstance(run, str):
        return Command([parse(word) for word in run])
    parts = parse(run)
    marked = _marked(parts)
    if needs_shell(marked):
        return _shell(marked, parts)
    return Command([_unmarked(word, parts) for word in shlex.split(marked)])


def words(text: str | Sequence[str]) -> list[Word]:
    """Splits a text that is not a command into words, or parses a list. Raises the same errors as `command`."""
    if not isinstance(text, str):
        return [parse(word) for word in text]
    parts = parse(text)
    return [_unmarked(word, parts) for word in shlex.split(_marked(parts))]


def needs_shell(text: str) -> bool:
    """Returns True if the text needs a shell. Raises ValueError for unclosed quotes."""
    split = shlex.split(text)
    if split and (split[0] in _BUILTINS or _ASSIGNMENT.match(split[0])):
        return True
    return any(
        (letter in _OPERATORS and quote == "")
        or (letter in "$`" and quote == '"')
        or (letter in _AT_WORD_START and quote == "" and (at == 0 or text[at - 1].isspace()))
        for at, (letter, quote) in enumerate(_letters(text))
        if letter
    )


def _letters(text: str) -> list[tuple[str, str]]:
    """Returns every character with the quotes around it, except quotes and escaped characters."""
    found: list[tuple[str, str]] = []
    quote = ""
    escaped = False
    for letter in text:
        if escaped:
            escaped = False
            found.append(("", quote))
        elif letter == "\\" and quote != "'":
            escaped = True
            found.append(("", quote))
        elif letter == quote or (letter in "'\"" and not quote):
            quote = "" if quote else letter
            found.append(("", quote))
        else:
            found.append((letter, quote))
    return found


def _shell(marked: str, parts: Sequence[str | ValueReference]) -> Command:
    script = ""
    values: list[Word] = []
    at = 0
    letters = _letters(marked)
    for mark in _MARK.finditer(marked):
        script += marked[at : mark.start()]
        values.append([parts[int(mark[1])]])
        name = f"${{{len(values)}}}"
        # In double quotes the value is one word already; single quotes are closed and opened again around the value.
        script += {"": f'"{name}"', '"': name, "'": f"'\"{name}\"'"}[letters[mark.start()][1]]
        at = mark.end()
    script += marked[at:]
    # The first argument after the script is $0, the next $1.
    return Command([["sh"], ["-c"], [script], *([["sh"], *values] if values else [])])


def _marked(parts: Sequence[str | ValueReference]) -> str:
    return "".join(part if isinstance(part, str) else f"{_OPEN}{at}{_CLOSE}" for at, part in enumerate(parts))


def _unmarked(word: str, parts: Sequence[str | ValueReference]) -> Word:
    found: list[str | ValueReference] = []
    for at, piece in enumerate(_MARK.split(word)):
        if at % 2:
            found.append(parts[int(piece)])
        elif piece:
            found.append(piece)
    return found
