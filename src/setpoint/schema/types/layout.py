"""Formats Python source as formatters do: on one line if the line fits, otherwise one line per argument."""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

WIDTH = 120
_INDENT = "    "
_QUOTES = re.compile(r'"{2,}')
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Bracketed(NamedTuple):
    """A call or a subscript: `head(parts)`, `head[parts]`."""

    head: str
    parts: Sequence["Node"]
    brackets: str = "()"


class Keyword(NamedTuple):
    """`name=value`."""

    name: str
    value: "Node"


class Union(NamedTuple):
    """`one | other`."""

    parts: Sequence["Node"]


Node: TypeAlias = str | Bracketed | Keyword | Union


def line(node: Node) -> str:
    """Returns the source on one line."""
    match node:
        case Bracketed(head, parts, brackets):
            return f"{head}{brackets[0]}{', '.join(map(line, parts))}{brackets[1]}"
        case Keyword(name, value):
            return f"{name}={line(value)}"
        case Union(parts):
            return " | ".join(map(line, parts))
    return node


def lay_out(before: str, node: Node, after: str, depth: int) -> str:
    """Returns the source between `before` and `after`, as lines indented by `depth`."""
    whole = f"{_INDENT * depth}{before}{line(node)}{after}"
    if len(whole) <= WIDTH:
        return whole
    match node:
        case Bracketed(head, parts, brackets) if parts:
            # A comma after the only part of a subscript would change the type.
            comma = "" if head and brackets == "[]" and len(parts) == 1 else ","
            inner = (lay_out("", part, comma, depth + 1) for part in parts)
            start, end = f"{before}{head}{brackets[0]}", f"{brackets[1]}{after}"
            return "\n".join([f"{_INDENT * depth}{start}", *inner, f"{_INDENT * depth}{end}"])
        case Keyword(name, value):
            return lay_out(f"{before}{name}=", value, after, depth)
        case Union(parts) if isinstance(parts[0], Bracketed):
            if before:
                return lay_out(before, parts[0], f"{''.join(f' | {line(part)}' for part in parts[1:])}{after}", depth)
            others = [f"{_INDENT * depth}| {line(part)}" for part in parts[1:]]
            return "\n".join([lay_out("", parts[0], "", depth), *others]) + after
    return whole


def lay_out_field(name: str, annotation: Node, value: Node | None) -> str:
    """Formats a field of a class, with its value, if any."""
    start = f"{_INDENT}{name}: {line(annotation)}"
    if value is None:
        return lay_out(f"{name}: ", annotation, "", 1)
    if len(f"{start} = {line(value)}") > WIDTH and isinstance(value, Bracketed):
        opened = f"{start} = {value.head}{value.brackets[0]}"
        inner, end = f"{_INDENT * 2}{', '.join(map(line, value.parts))}", f"{_INDENT}{value.brackets[1]}"
        if len(opened) > WIDTH:
            opened, inner, end = f"{start} = (", f"{_INDENT * 2}{line(value)}", f"{_INDENT})"
        if len(opened) <= WIDTH:
            return "\n".join([opened, inner, end])
    return lay_out(f"{name}: ", annotation, f" = {line(value)}", 1)


def quote(text: str) -> str:
    """Formats a string as a literal, with double quotes unless they need more escapes."""
    found = repr(text)
    if found.startswith("'") and '"' not in text:
        return f'"{found[1:-1]}"'
    return found


def literal(value: object) -> Node:
    """Formats any JSON value."""
    match value:
        case str():
            return quote(value)
        case dict():
            return Bracketed("", [_pair(quote(key), literal(item)) for key, item in value.items()], "{}")
        case list():
            return Bracketed("", [literal(item) for item in value], "[]")
    return repr(value)


def _pair(key: str, value: Node) -> Node:
    """Formats an entry of a dictionary."""
    if isinstance(value, Bracketed):
        return value._replace(head=f"{key}: {value.head}")
    return f"{key}: {line(value)}"


def docstring(text: str, depth: int) -> list[str]:
    """Returns the lines of a docstring. Outer blanks, which Python would not preserve, are removed."""
    escaped = text.strip().replace("\\", "\\\\")
    escaped = _QUOTES.sub(lambda found: '\\"' * len(found[0]), escaped)
    escaped = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", escaped)
    lines = [part.rstrip() for part in escaped.split("\n")]
    if lines[0].startswith('"'):
        lines[0] = f"\\{lines[0]}"
    if lines[-1].endswith('"') and not lines[-1].endswith('\\"'):
        lines[-1] = f'{lines[-1][:-1]}\\"'
    quoted = [f'"""{lines[0]}', *lines[1:]]
    if len(quoted) == 1:
        quoted[0] += '"""'
    else:
        quoted.append('"""')
    return [f"{_INDENT * depth}{part}".rstrip() for part in quoted]
