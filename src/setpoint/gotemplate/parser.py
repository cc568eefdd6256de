"""Parses templates in the syntax of Go's text/template.

    {{ portFor "db" }}   {{- .Name -}}   {{ range $i, $e := .Spec.Env }}{{ $e.Name }}{{ else }}none{{ end }}

All control structures, variables, pipelines, defined templates and comments are supported. Errors include their
position.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from setpoint.gotemplate.nodes import (
    Branch,
    Invocation,
    Jump,
    Part,
    Parts,
    Pipeline,
    Template,
    TemplateError,
)
from setpoint.gotemplate.operands import OperandReader, Token, tokens_of

OPEN, CLOSE = "{{", "}}"
_COMMENT = re.compile(r"(?:-\s)?/\*.*?\*/(\s-)?\}\}", re.DOTALL)
_TRIM_BEFORE = re.compile(r"-\s")
# The deepest nesting of control structures, as a bound on the recursion.
_DEEPEST = 100


class _Action(NamedTuple):
    """The tokens of one action; the first token is a keyword in `keyword`, or empty."""

    tokens: list[Token]
    keyword: str
    at: int
    end: int


@lru_cache(maxsize=2048)
def parse(text: str) -> Template:
    """Returns the parts of a template. Raises TemplateError."""
    return _Reader(text, _items(text)).everything()


def _items(text: str) -> list[str | _Action]:
    """Returns the texts and actions of a template, without comments and trimmed blanks."""
    found: list[str | _Action] = []
    at, trim = 0, False
    while True:
        start = text.find(OPEN, at)
        plain = text[at:] if start < 0 else text[at:start]
        if trim:
            plain = plain.lstrip()
        inside = start + len(OPEN)
        if start >= 0 and _TRIM_BEFORE.match(text, inside):
            plain = plain.rstrip()
        if plain:
            found.append(plain)
        if start < 0:
            return found
        if comment := _COMMENT.match(text, inside):
            at, trim = comment.end(), comment.group(1) is not None
            continue
        tokens, at, trim = tokens_of(text, start)
        keyword = tokens[0].text if tokens[0].kind == "keyword" else ""
        found.append(_Action(tokens[1:] if keyword else tokens, keyword, start, at))


class _Reader:
    """Builds the control structures from the items of a template."""

    def __init__(self, text: str, items: list[str | _Action]) -> None:
        self._text, self._items = text, items
        self._next = 0
        self._defined: dict[str, Parts] = {}
        # The variables in scope, the innermost last, and the number of loops around the current item.
        self._variables = ["$"]
        self._loops = 0
        self._depth = 0

    def everything(self) -> Template:
        parts, ending = self._parts()
        if ending is not None:
            raise self._error(f"unexpected {ending.keyword}; remove the action", ending.at)
        return Template(parts, self._defined)

    def _error(self, message: str, at: int) -> TemplateError:
        return TemplateError(message, self._text, at)

    def _parts(self) -> tuple[Parts, _Action | None]:
        """Returns the parts up to an `else` or `end`, and that action; None at the end of the text."""
        found: list[Part] = []
        while self._next < len(self._items):
            item = self._items[self._next]
            self._next += 1
            if isinstance(item, str):
                found.append(item)
            elif item.keyword in ("else", "end"):
                return tuple(found), item
            elif (part := self._part(item)) is not None:
                found.append(part)
        return tuple(found), None

    def _part(self, action: _Action) -> Part | None:
        match action.keyword:
            case "if" | "with" | "range":
                return self._branch(action, action.keyword)
            case "break" | "continue":
                self._check_empty(action)
                if not self._loops:
                    raise self._error(f"{action.keyword} is only possible in a range", action.at)
                return Jump(action.keyword, action.at)
            case "define":
                self._defined[self._name(action)] = self._definition(action)
                return None
            case "block":
                name = self._name(action)
                pipeline = self._pipeline(action._replace(tokens=action.tokens[1:]))
                self._defined.setdefault(name, self._definition(action))
                return Invocation(name, pipeline, action.at)
            case "template":
                name = self._name(action)
                rest = action._replace(tokens=action.tokens[1:])
                return Invocation(name, self._pipeline(rest) if rest.tokens else None, action.at)
            case _:
                return self._pipeline(action)

    def _pipeline(self, action: _Action, most_variables: int = 1) -> Pipeline:
        reader = OperandReader(self._text, action.tokens, action.end, self._variables)
        return reader.everything(most_variables)

    def _check_empty(self, action: _Action) -> None:
        if action.tokens:
            raise self._error(f"{action.keyword} takes no arguments", action.tokens[0].at)

    def _name(self, action: _Action) -> str:
        """Returns the name of a `define`, `block` or `template`."""
        if not action.tokens or action.tokens[0].kind not in ("text", "raw"):
            raise self._error(f"{action.keyword} needs the name of a template in double quotes", action.at)
        if action.keyword == "define" and len(action.tokens) > 1:
            raise self._error("define takes only a name", action.tokens[1].at)
        return action.tokens[0].text[1:-1]

    def _definition(self, action: _Action) -> Parts:
        variables, loops = self._variables, self._loops
        self._variables, self._loops = ["$"], 0
        body, ending = self._parts()
        self._check_end(action, ending)
        self._variables, self._loops = variables, loops
        return body

    def _check_end(self, action: _Action, ending: _Action | None) -> None:
        if ending is None or ending.keyword != "end":
            raise self._error(f"{action.keyword} has no end; add {{{{ end }}}}", action.at)
        self._check_empty(ending)

    def _branch(self, action: _Action, keyword: str) -> Branch:
        known = len(self._variables)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} control structures in each other", action.at)
        pipeline = self._pipeline(action, 2 if keyword == "range" else 1)
        self._loops += keyword == "range"
        body, ending = self._parts()
        self._loops -= keyword == "range"
        del self._variables[known + len(() if pipeline.assigns else pipeline.variables) :]
        otherwise: Parts = ()
        if ending is not None and ending.keyword == "else":
            otherwise, ending = self._otherwise(ending, keyword)
        if ending is not None or not (otherwise and isinstance(otherwise[-1], Branch)):
            self._check_end(action, ending)
        del self._variables[known:]
        self._depth -= 1
        return Branch(keyword, pipeline, body, otherwise, action.at)

    def _otherwise(self, action: _Action, keyword: str) -> tuple[Parts, _Action | None]:
        """Returns the parts of an `else`, and its `end`; None if that belongs to an `else if`."""
        if action.tokens and action.tokens[0].kind == "keyword" and action.tokens[0].text == keyword != "range":
            inner = _Action(action.tokens[1:], keyword, action.at, action.end)
            return (self._branch(inner, keyword),), None
        self._check_empty(action)
        parts, ending = self._parts()
        if ending is not None and ending.keyword == "else":
            raise self._error("a second else; remove one of them", ending.at)
        self._check_end(action._replace(keyword=keyword), ending)
        return parts, ending
