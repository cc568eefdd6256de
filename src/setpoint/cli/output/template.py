"""Templates of `-o jsonpath=…`: text, paths in braces, `{"\\n"}`, and loops from `{range …}` to `{end}`."""

import re
from collections.abc import Callable
from typing import TypeAlias

from setpoint.objects.tree import Json
from setpoint.schema.jsonpath import JSONPath, JSONPathError

_Part: TypeAlias = Callable[[Json], str]
# An action ends at the first brace outside of quotes.
_ACTION = re.compile(r"""\{((?:[^{}"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*)\}""")
_QUOTED = re.compile(r"""(["'])(.*)\1""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


class TemplateError(ValueError):
    """Raised for an invalid template."""


def compile_template(text: str) -> Callable[[Json], str]:
    """Compiles a template to a function of an object. A path without braces is accepted, too. Raises TemplateError, as
    does the function for a path that does not match the object.
    """
    if "{" not in text:
        text = "{" + text + "}" if text.startswith((".", "$", "[", "@")) else "{." + text + "}"
    tokens = _tokens(text)
    parts, rest = _parse(tokens, inside=False)
    assert not rest
    return lambda value: "".join(part(value) for part in parts)


def _tokens(text: str) -> list[tuple[str, str]]:
    """Splits the template into `("text", …)` and `("action", …)`."""
    found: list[tuple[str, str]] = []
    position = 0
    for match in _ACTION.finditer(text):
        found += [("text", text[position : match.start()]), ("action", match[1].strip())]
        position = match.end()
    rest = text[position:]
    if "{" in rest:
        raise TemplateError(f"unclosed action in {text!r}: a path must be in braces, as in {{.metadata.name}}")
    return [*found, ("text", rest)]


def _parse(tokens: list[tuple[str, str]], *, inside: bool) -> tuple[list[_Part], list[tuple[str, str]]]:
    parts: list[_Part] = []
    while tokens:
        (kind, text), tokens = tokens[0], tokens[1:]
        if kind == "text":
            parts.append(_literal(text))
        elif text == "end":
            if not inside:
                raise TemplateError("{end} without {range ...}")
            return parts, tokens
        elif text.startswith("range"):
            body, tokens = _parse(tokens, inside=True)
            parts.append(_loop(_path(text.removeprefix("range").strip()), body))
        elif quoted := _QUOTED.fullmatch(text):
            parts.append(_literal(_unescaped(quoted[2])))
        else:
            parts.append(_values(_path(text)))
    if inside:
        raise TemplateError("{range ...} without {end}")
    return parts, []


def _literal(text: str) -> _Part:
    return lambda value: text


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)


def _path(text: str) -> Callable[[Json], list[Json]]:
    try:
        parsed = JSONPath(text.removeprefix("$").removeprefix("@") or "")
    except JSONPathError as error:
        raise TemplateError(str(error)) from None

    def find(value: Json) -> list[Json]:
        if text in ("@", "$", "."):
            return [value]
        try:
            return parsed.find(value)
        except JSONPathError as error:
            raise TemplateError(str(error)) from None

    return find


def _loop(find: Callable[[Json], list[Json]], body: list[_Part]) -> _Part:
    return lambda value: "".join(part(each) for each in find(value) for part in body)


def _values(find: Callable[[Json], list[Json]]) -> _Part:
    return lambda value: " ".join(as_text(each) for each in find(value))


def as_text(value: Json) -> str:
    """Returns a value as text."""
    if isinstance(value, str):
        return value
    from setpoint.client.requests import encode

    return encode(value).decode()
