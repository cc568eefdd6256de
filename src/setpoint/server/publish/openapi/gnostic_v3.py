"""OpenAPI version 3 documents as messages of gnostic's `openapi.v3`, which clients may request instead of JSON."""

from collections.abc import Callable, Mapping

from setpoint.objects.tree import Json, Object
from setpoint.server.publish.openapi.gnostic import any_value, extensions
from setpoint.server.publish.openapi.protobuf_wire import boolean, double, integer, message, text

_METHODS = {"get": 4, "put": 5, "post": 6, "delete": 7, "options": 8, "head": 9, "patch": 10}


def document(tree: Object) -> bytes:
    """Returns a whole document."""
    info, components = tree["info"], tree["components"]
    paths = b"".join(_named(1, name, _path(path)) for name, path in tree["paths"].items())
    found = b""
    if "schemas" in components:
        found += message(1, b"".join(_named_schema(name, schema) for name, schema in components["schemas"].items()))
    if "securitySchemes" in components:
        schemes = components["securitySchemes"].items()
        found += message(7, b"".join(_named(1, name, message(1, _security(scheme))) for name, scheme in schemes))
    return (
        text(1, tree["openapi"])
        + message(2, text(1, info["title"]) + text(6, info["version"]))
        + message(4, paths)
        + message(5, found)
    )


def _named(number: int, name: str, value: bytes) -> bytes:
    return message(number, text(1, name) + message(2, value))


def _security(scheme: Object) -> bytes:
    return text(1, scheme["type"]) + text(2, scheme["description"]) + text(3, scheme["name"]) + text(4, scheme["in"])


def _path(path: Object) -> bytes:
    found = [message(number, _operation(path[method])) for method, number in _METHODS.items() if method in path]
    found += [message(13, _parameter(parameter)) for parameter in path.get("parameters", ())]
    return b"".join(found)


def _operation(operation: Object) -> bytes:
    found = [text(1, tag) for tag in operation["tags"]]
    found += [text(3, operation["description"]), text(5, operation["operationId"])]
    found += [message(6, _parameter(parameter)) for parameter in operation.get("parameters", ())]
    if "requestBody" in operation:
        body = operation["requestBody"]
        content = message(2, _content(body["content"])) + boolean(3, body.get("required", False))
        found.append(message(7, message(1, content)))
    responses = (_named(2, code, message(1, _response(response))) for code, response in operation["responses"].items())
    found.append(message(8, b"".join(responses)))
    return b"".join(found) + extensions(13, operation)


def _response(response: Object) -> bytes:
    found = text(1, response["description"])
    return found + message(3, _content(response["content"])) if "content" in response else found


def _content(content: Object) -> bytes:
    return b"".join(_named(1, name, message(1, _schema(media["schema"]))) for name, media in content.items())


def _parameter(parameter: Object) -> bytes:
    """Returns a `ParameterOrReference`."""
    found = text(1, parameter["name"]) + text(2, parameter["in"]) + text(3, parameter["description"])
    found += boolean(4, parameter.get("required", False))
    return message(1, found + message(10, _schema(parameter["schema"])))


def _named_schema(name: str, schema: Json) -> bytes:
    try:
        content = _schema(schema)
    except (RecursionError, OverflowError, TypeError, ValueError):
        # A user wrote this definition. The document must not fail because of its content: an invalid schema is left
        # empty.
        content = message(1, b"")
    return _named(1, name, content)


def _schema(schema: Json) -> bytes:
    """Returns a `SchemaOrReference`."""
    if isinstance(schema, dict) and "$ref" in schema:
        return message(2, text(1, schema["$ref"]))
    return message(1, _own_schema(schema))


def _own_schema(schema: Json) -> bytes:
    """Returns a `Schema`."""
    if not isinstance(schema, dict):
        return b""
    found = [write(schema[keyword]) for keyword, write in _KEYWORDS.items() if keyword in schema]
    return b"".join(found) + extensions(36, schema)


def _several(number: int, schemas: Json) -> bytes:
    return b"".join(message(number, _schema(schema)) for schema in schemas)


def _additional_properties(value: Json) -> bytes:
    if isinstance(value, bool):
        # The field is part of a oneof, so it is written even if false.
        return message(32, b"\x10\x01" if value else b"\x10\x00")
    return message(32, message(1, _schema(value)))


def _default(value: Json) -> bytes:
    """Returns a `DefaultType`, which is empty for lists and objects. Its fields are part of a oneof, so they are
    written even if zero."""
    if isinstance(value, bool):
        return message(33, b"\x10\x01" if value else b"\x10\x00")
    if isinstance(value, str):
        return message(33, message(3, value.encode("utf-8", "surrogatepass")))
    if isinstance(value, (int, float)):
        return message(33, double(1, value) or b"\x09" + bytes(8))
    return message(33, b"")


def _properties(value: Json) -> bytes:
    return message(31, b"".join(_named_schema(name, child) for name, child in value.items()))


def _external_docs(value: Json) -> bytes:
    return message(6, text(1, value.get("description", "")) + text(2, value.get("url", "")))


_KEYWORDS: Mapping[str, Callable[[Json], bytes]] = {
    "nullable": lambda value: boolean(1, value),
    "externalDocs": _external_docs,
    "example": lambda value: message(7, any_value(value)),
    "title": lambda value: text(9, value),
    "multipleOf": lambda value: double(10, value),
    "maximum": lambda value: double(11, value),
    "exclusiveMaximum": lambda value: boolean(12, value),
    "minimum": lambda value: double(13, value),
    "exclusiveMinimum": lambda value: boolean(14, value),
    "maxLength": lambda value: integer(15, value),
    "minLength": lambda value: integer(16, value),
    "pattern": lambda value: text(17, value),
    "maxItems": lambda value: integer(18, value),
    "minItems": lambda value: integer(19, value),
    "uniqueItems": lambda value: boolean(20, value),
    "maxProperties": lambda value: integer(21, value),
    "minProperties": lambda value: integer(22, value),
    "required": lambda value: b"".join(text(23, name) for name in value),
    "enum": lambda value: b"".join(message(24, any_value(entry)) for entry in value),
    "type": lambda value: text(25, value),
    "allOf": lambda value: _several(26, value),
    "oneOf": lambda value: _several(27, value),
    "anyOf": lambda value: _several(28, value),
    "not": lambda value: message(29, _own_schema(value)),
    "items": lambda value: message(30, message(1, _schema(value))),
    "properties": _properties,
    "additionalProperties": _additional_properties,
    "default": _default,
    "description": lambda value: text(34, value),
    "format": lambda value: text(35, value),
}
