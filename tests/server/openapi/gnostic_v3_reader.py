"""Turns gnostic's `openapi.v3` messages back into the JSON they were made from, by the published field numbers."""

import json
from collections.abc import Callable
from typing import Any

from tests.server.openapi.protobuf_reader import Fields, named, read

Tree = dict[str, Any]

TEXTS = {9: "title", 17: "pattern", 25: "type", 34: "description", 35: "format"}
NUMBERS = {
    10: "multipleOf",
    11: "maximum",
    13: "minimum",
    15: "maxLength",
    16: "minLength",
    18: "maxItems",
    19: "minItems",
    21: "maxProperties",
    22: "minProperties",
}
FLAGS = {1: "nullable", 12: "exclusiveMaximum", 14: "exclusiveMinimum", 20: "uniqueItems"}
SEVERAL = {26: "allOf", 27: "oneOf", 28: "anyOf"}
METHODS = {4: "get", 5: "put", 6: "post", 7: "delete", 8: "options", 9: "head", 10: "patch"}
SECURITY = {1: "type", 2: "description", 3: "name", 4: "in"}


def document(data: bytes) -> Tree:
    """The whole document."""
    fields = read(data)
    assert fields.keys() == {1, 2, 4, 5}
    info, components = read(fields[2][0]), read(fields[5][0])
    found: Tree = {}
    if 1 in components:
        found["schemas"] = of_names(components[1][0], schema)
    if 7 in components:
        found["securitySchemes"] = of_names(components[7][0], security)
    return {
        "openapi": text(fields[1][0]),
        "info": {"title": text(info[1][0]), "version": text(info[6][0])},
        "paths": of_names(fields[4][0], path),
        "components": found,
    }


def of_names(data: bytes, value: Callable[[Fields], Tree], number: int = 1) -> Tree:
    return {name: value(fields) for name, fields in named(read(data)[number]).items()}


def security(fields: Fields) -> Tree:
    return {SECURITY[number]: text(value) for number, (value,) in read(fields[1][0]).items()}


def path(fields: Fields) -> Tree:
    assert fields.keys() <= {*METHODS, 13}
    found: Tree = {name: operation(read(fields[number][0])) for number, name in METHODS.items() if number in fields}
    return found | ({"parameters": [parameter(entry) for entry in fields[13]]} if 13 in fields else {})


def operation(fields: Fields) -> Tree:
    assert fields.keys() <= {1, 3, 5, 6, 7, 8, 13}
    found: Tree = {
        "tags": [text(entry) for entry in fields[1]],
        "description": text(fields[3][0]),
        "operationId": text(fields[5][0]),
        "responses": of_names(fields[8][0], response, 2),
    }
    if 6 in fields:
        found["parameters"] = [parameter(entry) for entry in fields[6]]
    if 7 in fields:
        body = read(read(fields[7][0])[1][0])
        required = {"required": True} if 3 in body else {}
        found["requestBody"] = {"content": of_names(body[2][0], media), **required}
    return found | extensions(fields, 13)


def response(fields: Fields) -> Tree:
    inner = read(fields[1][0])
    content = {"content": of_names(inner[3][0], media)} if 3 in inner else {}
    return {"description": text(inner[1][0]), **content}


def media(fields: Fields) -> Tree:
    return {"schema": schema(read(fields[1][0]))}


def parameter(data: bytes) -> Tree:
    fields = read(read(data)[1][0])
    assert fields.keys() <= {1, 2, 3, 4, 10}
    found = {"name": text(fields[1][0]), "in": text(fields[2][0]), "description": text(fields[3][0])}
    return {**found, **({"required": True} if 4 in fields else {}), "schema": schema(read(fields[10][0]))}


def schema(fields: Fields) -> Tree:
    """A `SchemaOrReference`."""
    if 2 in fields:
        return {"$ref": text(read(fields[2][0])[1][0])}
    return own_schema(read(fields[1][0]))


def own_schema(fields: Fields) -> Tree:
    found: Tree = {name: text(fields[number][0]) for number, name in TEXTS.items() if number in fields}
    found |= {name: fields[number][0] for number, name in NUMBERS.items() if number in fields}
    found |= {name: bool(fields[number][0]) for number, name in FLAGS.items() if number in fields}
    found |= {
        name: [schema(read(entry)) for entry in fields[number]] for number, name in SEVERAL.items() if number in fields
    }
    if 6 in fields:
        docs = read(fields[6][0])
        found["externalDocs"] = {"description": text(docs[1][0]), "url": text(docs[2][0])}
    if 7 in fields:
        found["example"] = anything(fields[7][0])
    if 23 in fields:
        found["required"] = [text(entry) for entry in fields[23]]
    if 24 in fields:
        found["enum"] = [anything(entry) for entry in fields[24]]
    if 29 in fields:
        found["not"] = own_schema(read(fields[29][0]))
    if 30 in fields:
        (found["items"],) = (schema(read(entry)) for entry in read(fields[30][0])[1])
    if 31 in fields:
        found["properties"] = of_names(fields[31][0], schema)
    if 32 in fields:
        inner = read(fields[32][0])
        found["additionalProperties"] = schema(read(inner[1][0])) if 1 in inner else bool(inner[2][0])
    if 33 in fields:
        found["default"] = default(read(fields[33][0]))
    assert fields.keys() <= {*TEXTS, *NUMBERS, *FLAGS, *SEVERAL, 6, 7, 23, 24, 29, 30, 31, 32, 33, 36}
    return found | extensions(fields, 36)


def default(fields: Fields) -> Any:
    """A default; gnostic has no lists and objects, and reads None."""
    if not fields:
        return None
    ((number, (value,)),) = fields.items()
    if number == 1:
        return value
    return bool(value) if number == 2 else text(value)


def extensions(fields: Fields, number: int) -> Tree:
    """The extensions, whose values are YAML; ours are JSON, which is YAML too."""
    return {name: json.loads(value[2][0]) for name, value in named(fields.get(number, [])).items()}


def anything(data: bytes) -> Any:
    return json.loads(read(data)[2][0])


def text(data: bytes) -> str:
    return str(data, "utf-8")
