"""Parses files of variables (`.env`, `env_file`, `label_file`) as Docker Compose does."""

import re
from collections.abc import Callable

from setpoint.app.compose.template import Lookup, TemplateError, substitute

_EXPORT = re.compile(r"export\s")
_SPACE = "\t\v\f\r \x85\xa0"
_ESCAPE = re.compile(r'\\(?:[abcfnrtv$"\\]|0\d{0,3})')
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", '"': '"'}


class DotenvError(ValueError):
    """A line that is not valid."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def parse(text: str, into: dict[str, str], lookup: Lookup, unset: Callable[[str], None]) -> None:
    """Adds the variables of a file. `lookup` takes precedence over the variables of the file in references, and gives
    the values of names without `=`. Raises DotenvError."""
    _Parser(text.removeprefix("\ufeff"), into, lookup, unset).run()


class _Parser:
    def __init__(self, text: str, into: dict[str, str], lookup: Lookup, unset: Callable[[str], None]) -> None:
        self._text = text
        self._at = 0
        self._into = into
        self._outer = lookup
        self._unset = unset

    def run(self) -> None:
        while self._skip():
            start = self._at
            name, inherited = self._name()
            if " " in name:
                raise self._fault(start, f"the name {name!r} contains a space; write NAME=value")
            if inherited:
                value = self._outer(name)
                if value is not None:
                    self._into[name] = value
            else:
                self._into[name] = self._value()

    def _skip(self) -> bool:
        """Moves to the next statement, past spaces and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at].isspace():
                self._at += 1
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = end if end >= 0 else len(text)
            else:
                return True
        return False

    def _name(self) -> tuple[str, bool]:
        text = self._text
        if _EXPORT.match(text, self._at):
            self._at += len("export")
            self._spaces()
        start = at = self._at
        if start == len(text):
            raise self._fault(start, "the name of the variable is missing; write NAME=value")
        while at < len(text):
            char = text[at]
            if char in "=:\n":
                self._at = at + 1
                self._spaces()
                return text[start:at].rstrip(), char == "\n"
            if char not in _SPACE and char not in "_.-[]" and not char.isalnum():
                shown = text[start:].split("\n")[0]
                raise self._fault(at, f"the character {char!r} is not allowed in the name {shown!r}; write NAME=value")
            at += 1
        # As in Compose, a name at the end of the file without a line break is the value of an empty name.
        self._at = start
        self._spaces()
        return "", False

    def _spaces(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _value(self) -> str:
        text, start = self._text, self._at
        quote = text[start : start + 1]
        if quote not in ("'", '"') or not quote:
            end = text.find("\n", start)
            end = end if end >= 0 else len(text)
            self._at = min(end + 1, len(text))
            return self._substituted(text[start:end].partition(" #")[0].rstrip(), start)
        made: list[str] = []
        at = start + 1
        while at < len(text):
            char = text[at]
            if char == "\\" and at + 1 < len(text):
                following = text[at + 1]
                made.append(following if following == quote else f"\\{following}")
                at += 2
            elif char == quote:
                self._at = at + 1
                value = "".join(made)
                return self._substituted(_ESCAPE.sub(_unescaped, value), start) if quote == '"' else value
            else:
                made.append(char)
                at += 1
        raise self._fault(start, f"the quoted value {text[start:].split(chr(10))[0]} has no end; add {quote}")

    def _substituted(self, value: str, start: int) -> str:
        try:
            return substitute(value, self._lookup, self._unset)
        except TemplateError as error:
            raise self._fault(start, str(error)) from None

    def _lookup(self, name: str) -> str | None:
        value = self._outer(name)
        return value if value is not None else self._into.get(name)

    def _fault(self, at: int, text: str) -> DotenvError:
        return DotenvError(self._text.count("\n", 0, at) + 1, text)


def _unescaped(found: re.Match[str]) -> str:
    text = found.group()
    if text == "\\$":
        return "$$"
    if text.startswith("\\0"):
        digits = text[2:]
        is_octal = len(digits) == 3 and all(digit in "01234567" for digit in digits) and int(digits, 8) < 256
        return chr(int(digits, 8)) if is_octal else text.replace("\\0", "\\", 1)
    return _ESCAPED.get(text[1], text)
