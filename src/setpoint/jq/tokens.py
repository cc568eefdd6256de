"""The tokens of a jq expression."""

import json
import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|\#[^\n]*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<recurse>\.\.)
    |(?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    |(?P<variable>\$[A-Za-z_][A-Za-z0-9_]*)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>//|==|!=|<=|>=|[|,.\[\](){}:;?<>+\-*/%])
    """,
    re.VERBOSE,
)


class JqError(ValueError):
    """An expression is invalid or uses a part of jq that is not supported. The message has the column."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"{message} (column {at + 1})")
        self.problem = message


class Token(NamedTuple):
    """A token with its kind: `number`, `text`, `field`, `variable`, `word`, `recurse`, `sign` or `end`."""

    kind: str
    text: str
    at: int


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of an expression, and one of the kind `end`. Raises JqError."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise JqError(f"unexpected character {text[at]!r}", at)
        if match.lastgroup != "blank":
            found.append(Token(match.lastgroup, match.group(), at))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def unquoted(token: Token) -> str:
    """Returns the value of a text. Raises JqError."""
    if "\\(" in token.text:
        raise JqError("interpolation in texts is not supported; join parts with +", token.at)
    try:
        return str(json.loads(token.text, strict=False))
    except ValueError:
        raise JqError(f"invalid text {token.text}", token.at) from None
