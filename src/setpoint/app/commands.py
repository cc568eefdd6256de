"""Commands of an app file: a text becomes a program and its arguments, by the rules of a shell.

A shell runs only what needs one (pipes, `&&`, globs, `$NAME`, `cd`, ...). What references stand for is then given to it
as `$1`, `$2` and so on, in quotes: whatever a password contains, it is one word and nothing is done with it.
"""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from setpoint.app.references import Reference, parse

# What stands for a reference while the words are found: characters that nobody writes.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_OPERATORS = frozenset("|&;<>()`$*?[\n")
_AT_WORD_START = frozenset("~#!")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# What only a shell has; a program of that name would not do the same.
_BUILTINS = frozenset(
    (
        ".", ":", "alias", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "if",
        "read", "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit", "umask", "unset",
        "until", "wait", "while", "{",
    )
)  # fmt: skip

Word = Sequence[str | Reference]


class Command(NamedTuple):
    """A program and its arguments, whose words may have references in them."""

    words: Sequence[Word]


def command(run: str | Sequence[str]) -> Command:
    """The command that a text or list means. Raises BadReference, and ValueError for quotes that are not closed."""
    if not isinstance(run, str):
        return Command([parse(word) for word in run])
    parts = parse(run)
    marked = _marked(parts)
    if needs_shell(marked):
        return _shell(marked, parts)
    return Command([_unmarked(word, parts) for word in shlex.split(marked)])


def words(text: str | Sequence[str]) -> list[Word]:
    """The words of a text that is no command, or of a list. Raises as `command` does."""
    if not isinstance(text, str):
        return [parse(word) for word in text]
    parts = parse(text)
    return [_unmarked(word, parts) for word in shlex.split(_marked(parts))]


def needs_shell(text: str) -> bool:
    """Whether only a shell understands the text. Raises ValueError for quotes that are not closed."""
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
    """Every letter with the quotes that it is in; without letters that are quotes or escaped."""
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


def _shell(marked: str, parts: Sequence[str | Reference]) -> Command:
    script = ""
    values: list[Word] = []
    at = 0
    letters = _letters(marked)
    for mark in _MARK.finditer(marked):
        script += marked[at : mark.start()]
        values.append([parts[int(mark[1])]])
        name = f"${{{len(values)}}}"
        # In double quotes the value is already one word; in single ones those are left for a moment.
        script += {"": f'"{name}"', '"': name, "'": f"'\"{name}\"'"}[letters[mark.start()][1]]
        at = mark.end()
    script += marked[at:]
    # What stands behind the script is $0, and then $1.
    return Command([["sh"], ["-c"], [script], *([["sh"], *values] if values else [])])


def _marked(parts: Sequence[str | Reference]) -> str:
    return "".join(part if isinstance(part, str) else f"{_OPEN}{at}{_CLOSE}" for at, part in enumerate(parts))


def _unmarked(word: str, parts: Sequence[str | Reference]) -> Word:
    found: list[str | Reference] = []
    for at, piece in enumerate(_MARK.split(word)):
        if at % 2:
            found.append(parts[int(piece)])
        elif piece:
            found.append(piece)
    return found
