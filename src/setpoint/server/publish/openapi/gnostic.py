"""The parts of an OpenAPI version 2 document as messages of gnostic's `openapi.v2`, which client-go reads.

Values of any type (enums, extensions) are encoded as YAML text; the text is JSON, which is valid YAML.
"""

from collections.abc import Callable, Mapping

import msgspec

from setpoint.objects.tree import Json, Object
from setpoint.server.publish.openapi.protobuf_wire import boolean, double, integer, message, text

_encode = msgspec.json.Encoder().encode
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_PARAMETERS = 9


def named_path(name: str, path: Object) -> bytes:
    """Returns one path, as a field of `Paths`."""
    found = [message(number, _operation(path[method])) for method, number in _METHODS.items() if method in path]
    found += [message(_PARAMETERS, _parameter(parameter)) for parameter in path.get("parameters", ())]
    return message(2, text(1, name) + message(2, b"".join(found)))


def named_schema(name: str, schema: Json) -> bytes:
    """Returns one schema, as a field of `Definitions` or `Properties`."""
    try:
        content = _schema(schema)
    except (RecursionError, OverflowError, TypeError, ValueError):
        # A user wrote this definition. The document of all others must not fail because of its content: an invalid
        # schema is left empty.
        content = b""
    return message(1, text(1, name) + message(2, content))


def named_parameter(name: str, parameter: Object) -> bytes:
    """Returns one shared parameter, as a field of `ParameterDefinitions`."""
    return message(1, text(1, name) + message(2, _own_parameter(parameter)))


def requirement(name: str) -> bytes:
    """Returns a `SecurityRequirement` without scopes."""
    return message(1, text(1, name) + message(2, b""))


def security(definitions: Mapping[str, Object]) -> bytes:
    """Returns the `SecurityDefinitions`, all of them of API keys."""
    found = []
    for name, scheme in definitions.items():
        key = text(1, scheme["type"]) + text(2, scheme["name"]) + text(3, scheme["in"]) + text(4, scheme["description"])
        found.append(message(1, text(1, name) + message(2, message(2, key))))
    return b"".join(found)


def _operation(operation: Object) -> bytes:
    found = [text(1, tag) for tag in operation.get("tags", ())]
    found += [text(3, operation.get("description", "")), text(5, operation.get("operationId", ""))]
    found += [text(6, media_type) for media_type in operation.get("produces", ())]
    found += [text(7, media_type) for media_type in operation.get("consumes", ())]
    found += [message(8, _parameter(parameter)) for parameter in operation.get("parameters", ())]
    responses = (_response(code, response) for code, response in operation["responses"].items())
    found.append(message(9, b"".join(responses)))
    found += [text(10, scheme) for scheme in operation.get("schemes", ())]
    return b"".join(found) + extensions(13, operation)


def _response(code: str, response: Object) -> bytes:
    content = text(1, response.get("description", ""))
    if "schema" in response:
        content += message(2, message(1, _schema(response["schema"])))
    return message(1, text(1, code) + message(2, message(1, content)))


def _parameter(parameter: Object) -> bytes:
    """Returns a `ParametersItem`."""
    if "$ref" in parameter:
        return message(2, text(1, parameter["$ref"]))
    return message(1, _own_parameter(parameter))


def _own_parameter(parameter: Object) -> bytes:
    """Returns a `Parameter`."""
    name, place, description = parameter["name"], parameter["in"], parameter.get("description", "")
    required = parameter.get("required", False)
    if place == "body":
        body = text(1, description) + text(2, name) + text(3, place) + boolean(4, required)
        return message(1, body + message(5, _schema(parameter["schema"])))
    head = boolean(1, required) + text(2, place) + text(3, description) + text(4, name)
    unique = parameter.get("uniqueItems", False)
    if place == "path":
        content = message(4, head + text(5, parameter.get("type", "")) + boolean(19, unique))
    else:
        content = message(3, head + text(6, parameter.get("type", "")) + boolean(20, unique))
    return message(2, content)


def _schema(schema: Json) -> bytes:
    """Returns a `Schema`."""
    if not isinstance(schema, dict):
        return b""
    found = [write(schema[keyword]) for keyword, write in _KEYWORDS.items() if keyword in schema]
    return b"".join(found) + extensions(31, schema)


def extensions(number: int, node: Object) -> bytes:
    """Returns the extensions of a node, as a repeated field of that number."""
    found = (
        message(number, text(1, name) + message(2, any_value(value)))
        for name, value in node.items()
        if name[:2] == "x-"
    )
    return b"".join(found)


def any_value(value: Json) -> bytes:
    """Returns an `Any`."""
    return text(2, _encode(value).decode() + "\n")


def _string_list(number: int, value: str) -> bytes:
    return message(number, text(1, value))


def _additional_properties(value: Json) -> bytes:
    if isinstance(value, bool):
        # The field is part of a oneof, so it is written even if false.
        return message(21, b"\x10\x01" if value else b"\x10\x00")
    return message(21, message(1, _schema(value)))


def _properties(value: Json) -> bytes:
    return message(25, b"".join(named_schema(name, child) for name, child in value.items()))


def _external_docs(value: Json) -> bytes:
    return message(29, text(1, value.get("description", "")) + text(2, value.get("url", "")))


_KEYWORDS: Mapping[str, Callable[[Json], bytes]] = {
    "$ref": lambda value: text(1, value),
    "format": lambda value: text(2, value),
    "title": lambda value: text(3, value),
    "description": lambda value: text(4, value),
    "multipleOf": lambda value: double(6, value),
    "maximum": lambda value: double(7, value),
    "exclusiveMaximum": lambda value: boolean(8, value),
    "minimum": lambda value: double(9, value),
    "exclusiveMinimum": lambda value: boolean(10, value),
    "maxLength": lambda value: integer(11, value),
    "minLength": lambda value: integer(12, value),
    "pattern": lambda value: text(13, value),
    "maxItems": lambda value: integer(14, value),
    "minItems": lambda value: integer(15, value),
    "uniqueItems": lambda value: boolean(16, value),
    "maxProperties": lambda value: integer(17, value),
    "minProperties": lambda value: integer(18, value),
    "required": lambda value: b"".join(text(19, name) for name in value),
    "enum": lambda value: b"".join(message(20, any_value(entry)) for entry in value),
    "additionalProperties": _additional_properties,
    "type": lambda value: _string_list(22, value),
    "items": lambda value: message(23, message(1, _schema(value))),
    "properties": _properties,
    "externalDocs": _external_docs,
    "example": lambda value: message(30, any_value(value)),
}
