"""Substitutes variables in texts: `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME:?error}`, `${NAME:+other}`, `$$`."""

import re
from collections.abc import Callable
from typing import TypeAlias

Lookup: TypeAlias = Callable[[str], str | None]

_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_OPERATOR = re.compile(r":?[-+?]")


class TemplateError(ValueError):
    """A text with an invalid reference, or a required variable without a value."""


def substitute(text: str, lookup: Lookup, unset: Callable[[str], None]) -> str:
    """Returns the text with the values of its variables. `unset` receives the names of unset variables without default.
    Raises TemplateError."""
    if "$" not in text:
        return text
    made: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        made.append(text[at:dollar])
        at = dollar + 1
        following = text[at : at + 1]
        if following == "$":
            made.append("$")
            at += 1
        elif following == "{":
            end = _closing(text, at)
            made.append(_braced(text[at + 1 : end], text, lookup, unset))
            at = end + 1
        elif found := _NAME.match(text, at):
            made.append(_plain(found.group(), lookup, unset))
            at = found.end()
        else:
            made.append("$")
    made.append(text[at:])
    return "".join(made)


def _closing(text: str, opening: int) -> int:
    """Returns the position of the brace that closes the one at `opening`: braces inside are counted, and the last brace
    of the line is used if they do not match."""
    line_end = text.find("\n", opening)
    last = text.rfind("}", opening, line_end if line_end >= 0 else len(text))
    if last < 0:
        raise _invalid(text)
    depth, at = 0, opening
    while at <= last:
        if text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
        elif text[at] == "{":
            depth += 1
            # As in Compose, the character after a brace is never a brace of its own.
            at += 1
        at += 1
    return last


def _braced(inner: str, text: str, lookup: Lookup, unset: Callable[[str], None]) -> str:
    found = _NAME.match(inner)
    if found is None:
        raise _invalid(text)
    name, rest = found.group(), inner[found.end() :]
    if not rest:
        return _plain(name, lookup, unset)
    operator = _OPERATOR.match(rest)
    if operator is None:
        raise _invalid(text)
    sign, other = operator.group()[-1], rest[operator.end() :]
    value = lookup(name)
    present = value if value is not None and (value or len(operator.group()) == 1) else None
    if sign == "+":
        return substitute(other, lookup, unset) if present is not None else value or ""
    if present is not None:
        return present
    replacement = substitute(other, lookup, unset)
    if sign == "?":
        raise TemplateError(f"the variable {name} has no value{f' ({replacement})' if replacement else ''}; set {name}")
    return replacement


def _plain(name: str, lookup: Lookup, unset: Callable[[str], None]) -> str:
    value = lookup(name)
    if value is None:
        unset(name)
        return ""
    return value


def _invalid(text: str) -> TemplateError:
    return TemplateError(f"invalid reference in {text!r}; write ${{NAME}}, or $$ for a dollar sign")
