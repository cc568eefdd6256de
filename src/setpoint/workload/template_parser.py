"""Parses templates in the syntax of Go's text/template, as far as values of workloads use the syntax.

    {{ portFor "db" }}   {{- .Name -}}   {{ envOf "Executable" "api" "MODE" | default "dev" }}   {{/* a comment */}}

Pipelines of calls, literals, fields and parentheses are supported, with trimming. Control structures and variables are
not: a value is one line of text, and complex logic belongs in the program. Errors include their position.
"""

import re
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from setpoint.objects.tree import Json


class TemplateError(ValueError):
    """A template is invalid. The message has the column, counted from 1, and the remedy."""

    def __init__(self, message: str, text: str, at: int) -> None:
        line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.problem = message
        place = f"column {self.column}" if line == 1 else f"line {line}, column {self.column}"
        super().__init__(f"{message} ({place} of the template)")


class Literal(NamedTuple):
    """A string, number or boolean."""

    value: Json
    at: int


class FieldNode(NamedTuple):
    """A field of the object, e.g. `.Spec.Env`; without names, the object itself."""

    names: tuple[str, ...]
    at: int


class Call(NamedTuple):
    """A function with its arguments, without the piped value."""

    function: str
    arguments: "tuple[Operand, ...]"
    at: int


class Pipeline(NamedTuple):
    """Commands, each of which gets the value of the previous one as its last argument."""

    commands: "tuple[Operand, ...]"
    at: int


Operand: TypeAlias = Literal | FieldNode | Call | Pipeline
Part: TypeAlias = str | Pipeline
Template: TypeAlias = tuple[Part, ...]

OPEN, CLOSE = "{{", "}}"
_COMMENT = re.compile(r"(?:-\s)?\s*/\*.*?\*/(?:(\s+-)|\s*)\}\}", re.DOTALL)
_TRIM_BEFORE, _TRIM_AFTER = re.compile(r"-\s"), re.compile(r"\s-\}\}")
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<close>\}\})
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<raw>`[^`]*`)
    |(?P<rune>'(?:[^'\\\n]|\\.)+')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
    |(?P<field>(?:\.[A-Za-z_][A-Za-z0-9_]*)+|\.)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<pipe>\|)
    |(?P<open>\()
    |(?P<shut>\))
    |(?P<variable>\$[A-Za-z0-9_]*)
    """,
    re.VERBOSE,
)
_KEYWORDS = ("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.|$))")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "nil": None}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


@lru_cache(maxsize=2048)
def parse(text: str) -> Template:
    """Returns the parts of a template: texts and pipelines. Raises TemplateError."""
    parts: list[Part] = []
    at, trim = 0, False
    while True:
        start = text.find(OPEN, at)
        plain = text[at:] if start < 0 else text[at:start]
        if trim:
            plain = plain.lstrip()
        if start < 0:
            if plain:
                parts.append(plain)
            return tuple(parts)
        inside = start + len(OPEN)
        if _TRIM_BEFORE.match(text, inside):
            plain = plain.rstrip()
        if plain:
            parts.append(plain)
        if comment := _COMMENT.match(text, inside):
            at, trim = comment.end(), comment.group(1) is not None
            continue
        pipeline, at, trim = _action(text, start)
        parts.append(pipeline)


def _action(text: str, start: int) -> tuple[Pipeline, int, bool]:
    """Returns the pipeline of an action, its end, and True if the text after it is trimmed."""
    tokens: list[_Token] = []
    at, trim = start + len(OPEN), False
    if _TRIM_BEFORE.match(text, at):
        at += 1
    while True:
        if _TRIM_AFTER.match(text, at):
            at, trim = at + 4, True
            break
        found = _TOKEN.match(text, at)
        if found is None:
            raise _unexpected(text, start, at)
        kind = str(found.lastgroup)
        if kind == "close":
            at = found.end()
            break
        if kind != "space":
            _check_apart(text, tokens, kind, at)
            tokens.append(_Token(kind, found.group(), at))
        # One blank of several is kept, which may belong to a closing ` -}}`.
        at = max(found.end() - 1, at + 1) if kind == "space" and found.end() - at > 1 else found.end()
    if not tokens:
        raise TemplateError("empty action between {{ and }}; write a function, or remove the action", text, start)
    return _OperandReader(text, tokens, at).everything(), at, trim


def _check_apart(text: str, tokens: list[_Token], kind: str, at: int) -> None:
    """Checks that two operands are separated by a blank. Raises TemplateError."""
    if kind in ("pipe", "open", "shut") or not tokens:
        return
    before = tokens[-1]
    if before.kind not in ("pipe", "open") and before.at + len(before.text) == at:
        raise TemplateError(f"a blank is missing after {before.text}", text, at)


def _unexpected(text: str, start: int, at: int) -> TemplateError:
    if at >= len(text):
        return TemplateError('{{ is not closed; write }}, or {{ "{{" }} for the characters themselves', text, start)
    if text[at] in "\"`'":
        return TemplateError("a string is not closed; add the closing quote", text, at)
    return TemplateError(f"unexpected {text[at]!r}", text, at)


class _OperandReader:
    """Converts the tokens of one action to operands."""

    def __init__(self, text: str, tokens: list[_Token], end: int) -> None:
        self._text, self._tokens, self._end = text, tokens, end
        self._next = 0

    def everything(self) -> Pipeline:
        found = self._pipeline()
        if self._next < len(self._tokens):
            raise self._error("unmatched )", self._tokens[self._next].at)
        return found

    def _error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self._text, at)

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _pipeline(self) -> Pipeline:
        first = self._peek()
        commands = [self._command()]
        while (token := self._peek()) is not None and token.kind == "pipe":
            self._next += 1
            command = self._command()
            if not isinstance(command, Call):
                raise self._error("only a function can come after |", token.at)
            commands.append(command)
        return Pipeline(tuple(commands), first.at if first else self._end)

    def _command(self) -> Operand:
        token = self._peek()
        if token is None or token.kind in ("pipe", "shut"):
            raise self._error("a function or value is missing here", token.at if token else self._end - len(CLOSE))
        if token.kind == "word" and token.text not in _CONSTANTS:
            self._next += 1
            if token.text in _KEYWORDS:
                message = f"{token.text} is not supported in values; move this logic into the program"
                raise self._error(message, token.at)
            return Call(token.text, tuple(self._arguments()), token.at)
        operand = self._operand()
        if (more := self._peek()) is not None and more.kind not in ("pipe", "shut"):
            raise self._error(f"{token.text} is not a function and takes no arguments", more.at)
        return operand

    def _arguments(self) -> list[Operand]:
        found = []
        while (token := self._peek()) is not None and token.kind not in ("pipe", "shut"):
            found.append(self._operand())
        return found

    def _operand(self) -> Operand:
        token = self._tokens[self._next]
        self._next += 1
        if token.kind == "open":
            inner = self._pipeline()
            closing = self._peek()
            if closing is None or closing.kind != "shut":
                raise self._error("( is not closed", token.at)
            self._next += 1
            return inner
        if token.kind == "field":
            return FieldNode(tuple(token.text[1:].split(".")) if token.text != "." else (), token.at)
        if token.kind == "word":
            if token.text in _CONSTANTS:
                return Literal(_CONSTANTS[token.text], token.at)
            return Call(token.text, (), token.at)
        if token.kind == "variable":
            raise self._error("variables are not supported in values", token.at)
        return Literal(self._value(token), token.at)

    def _value(self, token: _Token) -> Json:
        if token.kind == "raw":
            return token.text[1:-1]
        if token.kind == "number":
            plain = token.text.replace("_", "")
            try:
                return int(plain, 0)
            except ValueError:
                return float(plain)
        text = _ESCAPE.sub(lambda found: self._unescaped(found, token), token.text[1:-1])
        if token.kind == "text":
            return text
        if len(text) != 1:
            raise self._error("single quotes are for one character; use double quotes for a string", token.at)
        return ord(text)

    def _unescaped(self, found: re.Match[str], token: _Token) -> str:
        simple, *codes, octal, unknown = found.groups()
        if simple:
            return _ESCAPES[simple]
        if unknown is not None:
            raise self._error(f"\\{unknown} is not a valid escape; write \\\\ for a backslash", token.at)
        code = int(octal, 8) if octal else int(next(filter(None, codes)), 16)
        try:
            return chr(code)
        except ValueError:
            raise self._error(f"{found.group()} is not a valid character", token.at) from None
