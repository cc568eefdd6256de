"""The `fieldPath` of a rule: `.a.b`, `.m['x']`, checked against the schema and converted to the form of error paths."""

import re

from setpoint.objects.field import child, key
from setpoint.schema.openapi import Schema

_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def resolve(path: str, schema: Schema) -> str | None:
    """Returns the path in the form of error messages, or None if the path is not a field of the schema."""
    tokens = _tokens(path)
    result = ""
    at = 0
    while at < len(tokens):
        if tokens[at] == "." and at + 1 < len(tokens):
            name = tokens[at + 1]
            at += 2
        elif tokens[at] == "[" and at + 2 < len(tokens) and tokens[at + 2] == "]":
            unquoted = _unquote(tokens[at + 1])
            if unquoted is None:
                return None
            name = unquoted
            at += 3
        else:
            return None
        if schema.properties:
            if name not in schema.properties:
                return None
            result, schema = child(result, name), schema.properties[name]
        elif isinstance(schema.additional_properties, Schema):
            result, schema = key(result, name), schema.additional_properties
        else:
            return None
    return result


def _tokens(path: str) -> list[str]:
    """Splits a path into dots, brackets, names, and quoted names, in which dots and brackets have no meaning."""
    tokens: list[str] = []
    at = 0
    while at < len(path):
        if path[at] in ".[]":
            end = at + 1
        elif path[at] == "'":
            end = at + 1
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            end = min(end + 1, len(path))
        else:
            end = at
            while end < len(path) and path[end] not in ".[]":
                end += 1
        tokens.append(path[at:end])
        at = end
    return tokens


def _unquote(token: str) -> str | None:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        return None
    body = token[1:-1]
    if any(match.group()[1] not in _ESCAPES for match in _ESCAPE.finditer(body)):
        return None
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group()[1]], body)
