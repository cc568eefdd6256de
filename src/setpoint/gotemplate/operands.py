"""Reads one action of a template: its tokens, and the pipeline that they form."""

import re
from typing import NamedTuple

from setpoint.gotemplate.nodes import (
    Call,
    Chain,
    FieldNode,
    Literal,
    Operand,
    Pipeline,
    TemplateError,
    Variable,
)
from setpoint.objects.tree import Json

KEYWORDS = frozenset(("if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"))
_TRIM_BEFORE, _TRIM_AFTER = re.compile(r"-\s"), re.compile(r"\s-\}\}")
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<close>\}\})
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<raw>`[^`]*`)
    |(?P<rune>'(?:[^'\\\n]|\\.)+')
    |(?P<number>[+-]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:[0-9][0-9_]*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))
    |(?P<variable>\$\w*(?:\.[^\W\d]\w*)*)
    |(?P<field>(?:\.[^\W\d]\w*)+|\.)
    |(?P<word>[^\W\d]\w*)
    |(?P<pipe>\|)
    |(?P<declare>:=)
    |(?P<assign>=)
    |(?P<comma>,)
    |(?P<open>\()
    |(?P<shut>\))
    """,
    re.VERBOSE,
)
_MARKS = frozenset(("pipe", "open", "shut", "declare", "assign", "comma"))
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.|$))")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "nil": None}
_LEADING_ZEROS = re.compile(r"[+-]?0[0-9_]+")


class Token(NamedTuple):
    """One token of an action."""

    kind: str
    text: str
    at: int

    @property
    def end(self) -> int:
        return self.at + len(self.text)


def tokens_of(text: str, start: int) -> tuple[list[Token], int, bool]:
    """Returns the tokens of the action at `start`, its end, and True if the text after it is trimmed. Raises
    TemplateError."""
    tokens: list[Token] = []
    at, trim = start + 2, False
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
            word = found.group()
            is_keyword = kind == "word" and word in KEYWORDS and (not tokens or tokens[0].text == "else")
            tokens.append(Token("keyword" if is_keyword else kind, word, at))
            _check_apart(text, tokens)
        # One blank of several is kept, which may belong to a closing ` -}}`.
        at = max(found.end() - 1, at + 1) if kind == "space" and found.end() - at > 1 else found.end()
    if not tokens:
        raise TemplateError("empty action between {{ and }}; write a function, or remove the action", text, start)
    return tokens, at, trim


def _check_apart(text: str, tokens: list[Token]) -> None:
    """Checks that two operands are separated by a blank. Raises TemplateError."""
    if len(tokens) < 2:
        return
    before, token = tokens[-2:]
    if before.end != token.at or token.kind in _MARKS or before.kind in _MARKS - {"shut"}:
        return
    if before.kind in ("shut", "keyword") and token.kind == "field":
        return  # the field of a value in parentheses, or `{{if.x}}`
    raise TemplateError(f"a blank is missing after {before.text}", text, token.at)


def _unexpected(text: str, start: int, at: int) -> TemplateError:
    if at >= len(text):
        return TemplateError('{{ is not closed; write }}, or {{ "{{" }} for the characters themselves', text, start)
    if text[at] in "\"`'":
        return TemplateError("a string is not closed; add the closing quote", text, at)
    return TemplateError(f"unexpected {text[at]!r}", text, at)


class OperandReader:
    """Converts the tokens of one action to a pipeline. `variables` are those in scope; new ones are added."""

    def __init__(self, text: str, tokens: list[Token], end: int, variables: list[str]) -> None:
        self._text, self._tokens, self._end, self._variables = text, tokens, end, variables
        self._next = 0

    def everything(self, most_variables: int = 1) -> Pipeline:
        names, assigns = self._declaration(most_variables)
        found = self._pipeline()
        if self._next < len(self._tokens):
            raise self._error("unmatched )", self._tokens[self._next].at)
        if not assigns:
            self._variables += names
        return found._replace(variables=names, assigns=assigns)

    def _declaration(self, most: int) -> tuple[tuple[str, ...], bool]:
        """Reads the variables before `:=` or `=`."""
        kinds = [token.kind for token in self._tokens[:4]]
        for count in range(1, most + 1):
            *names, mark = kinds[: 2 * count] or [""]
            if mark not in ("declare", "assign") or names != ["variable", "comma", "variable"][: 2 * count - 1]:
                continue
            tokens = self._tokens[: 2 * count : 2]
            for token in tokens:
                if "." in token.text or (mark == "assign" and token.text not in self._variables):
                    raise self._error(f"{token.text} is not a variable that can be set", token.at)
            self._next = 2 * count
            return tuple(token.text for token in tokens), mark == "assign"
        return (), False

    def _error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self._text, at)

    def _peek(self) -> Token | None:
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
            raise self._error("a function or value is missing here", token.at if token else self._end - 2)
        if token.kind == "word" and token.text not in _CONSTANTS:
            self._next += 1
            return Call(token.text, tuple(self._arguments()), token.at)
        operand = self._operand()
        if (more := self._peek()) is not None and more.kind not in ("pipe", "shut"):
            raise self._error(f"{token.text} is not a function and takes no arguments", more.at)
        if isinstance(operand, Literal) and operand.value is None:
            raise self._error("nil is not a command; use nil as an argument only", token.at)
        return operand

    def _arguments(self) -> list[Operand]:
        found = []
        while (token := self._peek()) is not None and token.kind not in ("pipe", "shut"):
            found.append(self._operand())
        return found

    def _operand(self) -> Operand:
        token = self._tokens[self._next]
        self._next += 1
        match token.kind:
            case "open":
                inner = self._pipeline()
                closing = self._peek()
                if closing is None or closing.kind != "shut":
                    raise self._error("( is not closed", token.at)
                self._next += 1
                return self._chained(inner, closing)
            case "field":
                return FieldNode(tuple(token.text[1:].split(".")) if token.text != "." else (), token.at)
            case "variable":
                name, *names = token.text.split(".")
                if name not in self._variables:
                    raise self._error(f"undefined variable {name}; set it with {{{{ {name} := … }}}}", token.at)
                return Variable(name, tuple(names), token.at)
            case "word":
                if token.text in _CONSTANTS:
                    return Literal(_CONSTANTS[token.text], token.at)
                return Call(token.text, (), token.at)
            case "text" | "raw" | "rune" | "number":
                return Literal(self._value(token), token.at)
            case _:
                raise self._error(f"unexpected {token.text!r}", token.at)

    def _chained(self, inner: Pipeline, closing: Token) -> Operand:
        field = self._peek()
        if field is None or field.kind != "field" or field.at != closing.end:
            return inner
        self._next += 1
        return Chain(inner, tuple(field.text[1:].split(".")), field.at)

    def _value(self, token: Token) -> Json:
        if token.kind == "raw":
            return token.text[1:-1]
        if token.kind == "number":
            plain = token.text.replace("_", "")
            try:
                return int(plain, 8) if _LEADING_ZEROS.fullmatch(plain) else int(plain, 0)
            except ValueError:
                pass
            try:
                return float(plain)
            except ValueError:
                raise self._error(f"{token.text} is not a valid number", token.at) from None
        text = _ESCAPE.sub(lambda found: self._unescaped(found, token), token.text[1:-1])
        if token.kind == "text":
            return text
        if len(text) != 1:
            raise self._error("single quotes are for one character; use double quotes for a string", token.at)
        return ord(text)

    def _unescaped(self, found: re.Match[str], token: Token) -> str:
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
