"""Converts text to tokens, by the grammar of CEL; invalid text becomes a problem with the real server's message."""

import re
from typing import NamedTuple

from setpoint.schema.cel.source_text import Problem

_HEX = "[0-9a-fA-F]"
_ESCAPE = rf"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX]{_HEX}{{2}}|u{_HEX}{{4}}|U{_HEX}{{8}})"""


def _quoted(quote: str) -> list[str]:
    """Returns the four forms of a string in this quote: raw or not, with three quotes or one."""
    return [
        rf"[bB]?[rR]{quote * 3}(?:.|\n)*?{quote * 3}",
        rf"[bB]?{quote * 3}(?:{_ESCAPE}|[^\\])*?{quote * 3}",
        rf"[bB]?[rR]{quote}[^{quote}\n\r]*{quote}",
        rf"[bB]?{quote}(?:{_ESCAPE}|[^\\{quote}\n\r])*{quote}",
    ]


_TOKEN = re.compile(
    "|".join(
        [
            r"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)",
            r"(?P<TEXT>" + "|".join([*_quoted('"'), *_quoted("'")]) + ")",
            r"(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)",
            rf"(?P<NUM_UINT>0x{_HEX}+[uU]|[0-9]+[uU])",
            rf"(?P<NUM_INT>0x{_HEX}+|[0-9]+)",
            r"(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)",
            r"(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)",
            r"(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
        ]
    )
)
# The extent of an unterminated string, escaped name or partial operator, as the grammar reports them.
_BROKEN = re.compile(
    rf"""(?P<open>"(?:{_ESCAPE}|[^\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*)(?P<escape>\\(?:[0-3][0-7]?|[xX]{_HEX}?|u{_HEX}{{0,3}}|U{_HEX}{{0,7}})?)?"""
    r"|`[A-Za-z0-9_.\-/ ]*|[=&|]"
)
_KEYWORDS = {"in", "true", "false", "null"}
# Reserved words, which are not allowed as names but are allowed as fields.
RESERVED = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    ]
)
END = "<EOF>"


class Token(NamedTuple):
    """A token: its kind (for keywords and symbols, the text itself), its text and its offset."""

    kind: str
    text: str
    offset: int


def tokenize(source: str, problems: list[Problem]) -> list[Token]:
    """Returns all tokens of the text, the last one `END`."""
    tokens: list[Token] = []
    position = 0
    end = len(source)
    while position < end:
        match = _TOKEN.match(source, position)
        if match is None:
            stop = _end_of_broken(source, position)
            shown = source[position:stop].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
            problems.append(Problem(position, f"Syntax error: token recognition error at: '{shown}'"))
            position = stop
            continue
        kind = match.lastgroup
        text = match.group()
        if kind == "TEXT":
            tokens.append(Token("BYTES" if text[0] in "bB" else "STRING", text, position))
        elif kind == "SYMBOL" or text in _KEYWORDS:
            tokens.append(Token(text, text, position))
        elif kind != "SPACE":
            tokens.append(Token(str(kind), text, position))
        position = match.end()
    tokens.append(Token(END, END, end))
    return tokens


def _end_of_broken(source: str, position: int) -> int:
    match = _BROKEN.match(source, position)
    return min(len(source), match.end() + 1) if match else position + 1
