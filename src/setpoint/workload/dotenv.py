r"""Parses files of environment variables, as godotenv and docker compose do.

    # a comment
    export NAME=value            # and another
    HOST: db                     # as YAML has it
    URL=http://${HOST}:${PORT:-80}
    KEY="several
    lines, with \n and $HOST"
    RAW='as it is: $HOST \n'

A name without a value takes the value of the surrounding environment, if present. Unquoted and double-quoted values are
expanded: `${NAME}`, `${NAME:-default}` and, in capitals, `$NAME`; `\$` is a literal dollar.
"""

import re
from collections.abc import Mapping

_BLANK = " \t\v\f\r\x85\xa0"
_NAME = re.compile(rf"(?:export[{_BLANK}]+)?([\w.-]+)[{_BLANK}]*(?:([=:])[{_BLANK}]*|(?=\n|#|$))")
_SKIPPED = re.compile(r"(?:\s+|#[^\n]*)+")
_QUOTED = {"'": re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL), '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)}
_PLAIN = re.compile(r"[^\n]*")
_COMMENT = re.compile(rf"(?:^|[{_BLANK}])#.*")
_VARIABLE = re.compile(r"\\\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?)-([^}]*))?\}|\$([A-Z_][A-Z0-9_]*)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class DotenvError(ValueError):
    """A file cannot be parsed; the message has the line and the remedy."""

    def __init__(self, message: str, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}: {message}")


def parse(text: str, surrounding: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables of a file, in order. Values may refer to variables of `surrounding`. Raises DotenvError."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found: dict[str, str] = {}
    at = 0
    while True:
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
        if at >= len(text):
            return found
        name = _NAME.match(text, at)
        if name is None:
            line = _PLAIN.match(text, at)
            shown = line.group()[:40] if line else ""
            raise DotenvError(f"{shown!r} is not a variable; write NAME=value", _line(text, at))
        at = name.end()
        if name[2] is None:
            if name[1] in surrounding:
                found[name[1]] = surrounding[name[1]]
            continue
        value, at = _value(text, at, {**surrounding, **found})
        found[name[1]] = value


def _value(text: str, at: int, known: Mapping[str, str]) -> tuple[str, int]:
    """Returns the value at a position, and the position after the value."""
    quote = text[at : at + 1]
    if quote not in ("'", '"'):
        line = _PLAIN.match(text, at)
        assert line is not None, "the pattern matches an empty line too"
        return _expanded(_COMMENT.sub("", line.group(), count=1).strip(), known), line.end()
    found = _QUOTED[quote].match(text, at)
    if found is None:
        raise DotenvError(f"a quote is not closed; write {quote} at the end of the value", _line(text, at))
    inner = found[1]
    if quote == '"':
        inner = _expanded(_ESCAPE.sub(_unescaped, inner), known)
    return inner, found.end()


def _unescaped(found: re.Match[str]) -> str:
    # The backslash before a dollar stays for the expansion.
    return {"n": "\n", "r": "\r", "$": "\\$"}.get(found[1], found[1])


def _expanded(text: str, known: Mapping[str, str]) -> str:
    def one(found: re.Match[str]) -> str:
        if found.group() == "\\$":
            return "$"
        name, colon, default, bare = found.groups()
        value = known.get(name or bare)
        if default is not None and (value is None or (colon and not value)):
            return str(default)
        return value or ""

    return _VARIABLE.sub(one, text)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
