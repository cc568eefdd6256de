"""Turns gnostic's `openapi.v2` messages back into the JSON they were made from, by the published field numbers."""

import json
from typing import Any

from tests.server.openapi.protobuf_reader import Fields, named, read

Tree = dict[str, Any]

TEXTS = {1: "$ref", 2: "format", 3: "title", 4: "description", 13: "pattern"}
NUMBERS = {
    6: "multipleOf",
    7: "maximum",
    9: "minimum",
    11: "maxLength",
    12: "minLength",
    14: "maxItems",
    15: "minItems",
    17: "maxProperties",
    18: "minProperties",
}
FLAGS = {8: "exclusiveMaximum", 10: "exclusiveMinimum", 16: "uniqueItems"}
METHODS = {2: "get", 3: "put", 4: "post", 5: "delete", 6: "options", 7: "head", 8: "patch"}
# Of the parameters of the query and of the path, whose numbers are not the same: type, uniqueItems.
PLACES = {3: (6, 20), 4: (5, 19)}


def document(data: bytes) -> Tree:
    """The whole document."""
    fields = read(data)
    assert fields.keys() == {1, 2, 8, 9, 10, 12, 13}
    info = read(fields[2][0])
    return {
        "swagger": text(fields[1][0]),
        "info": {"title": text(info[1][0]), "version": text(info[2][0])},
        "paths": {name: path(found) for name, found in named(read(fields[8][0])[2]).items()},
        "definitions": {name: schema(found) for name, found in named(read(fields[9][0])[1]).items()},
        "parameters": {name: own_parameter(found) for name, found in named(read(fields[10][0])[1]).items()},
        "security": [
            {name: [text(scope) for scope in found.get(1, ())] for name, found in named(read(entry)[1]).items()}
            for entry in fields[12]
        ],
        "securityDefinitions": {name: key(found) for name, found in named(read(fields[13][0])[1]).items()},
    }


def key(fields: Fields) -> Tree:
    (inner,) = (read(entry) for entry in fields[2])
    names = {1: "type", 2: "name", 3: "in", 4: "description"}
    return {names[number]: text(value) for number, (value,) in inner.items()}


def schema(fields: Fields) -> Tree:
    found: Tree = {name: text(fields[number][0]) for number, name in TEXTS.items() if number in fields}
    found |= {name: fields[number][0] for number, name in NUMBERS.items() if number in fields}
    found |= {name: bool(fields[number][0]) for number, name in FLAGS.items() if number in fields}
    if 19 in fields:
        found["required"] = [text(entry) for entry in fields[19]]
    if 20 in fields:
        found["enum"] = [anything(entry) for entry in fields[20]]
    if 21 in fields:
        inner = read(fields[21][0])
        found["additionalProperties"] = schema(read(inner[1][0])) if 1 in inner else bool(inner[2][0])
    if 22 in fields:
        (found["type"],) = (text(entry) for entry in read(fields[22][0])[1])
    if 23 in fields:
        (found["items"],) = (schema(read(entry)) for entry in read(fields[23][0])[1])
    if 25 in fields:
        found["properties"] = {name: schema(entry) for name, entry in named(read(fields[25][0])[1]).items()}
    if 29 in fields:
        docs = read(fields[29][0])
        found["externalDocs"] = {"description": text(docs[1][0]), "url": text(docs[2][0])}
    if 30 in fields:
        found["example"] = anything(fields[30][0])
    assert fields.keys() <= {*TEXTS, *NUMBERS, *FLAGS, 19, 20, 21, 22, 23, 25, 29, 30, 31}
    return found | extensions(fields, 31)


def path(fields: Fields) -> Tree:
    assert fields.keys() <= {*METHODS, 9}
    found: Tree = {name: operation(read(fields[number][0])) for number, name in METHODS.items() if number in fields}
    return found | ({"parameters": [parameter(read(entry)) for entry in fields[9]]} if 9 in fields else {})


def operation(fields: Fields) -> Tree:
    assert fields.keys() <= {1, 3, 5, 6, 7, 8, 9, 10, 13}
    found: Tree = {
        "tags": [text(entry) for entry in fields[1]],
        "description": text(fields[3][0]),
        "operationId": text(fields[5][0]),
        "produces": [text(entry) for entry in fields[6]],
        "schemes": [text(entry) for entry in fields[10]],
        "responses": {name: response(entry) for name, entry in named(read(fields[9][0])[1]).items()},
    }
    if 7 in fields:
        found["consumes"] = [text(entry) for entry in fields[7]]
    if 8 in fields:
        found["parameters"] = [parameter(read(entry)) for entry in fields[8]]
    return found | extensions(fields, 13)


def response(fields: Fields) -> Tree:
    (inner,) = (read(entry) for entry in fields[1])
    found: Tree = {"description": text(inner[1][0])}
    if 2 in inner:
        found["schema"] = schema(read(read(inner[2][0])[1][0]))
    return found


def parameter(fields: Fields) -> Tree:
    if 2 in fields:
        return {"$ref": text(read(fields[2][0])[1][0])}
    return own_parameter(read(fields[1][0]))


def own_parameter(inner: Fields) -> Tree:
    if 1 in inner:
        body = read(inner[1][0])
        found: Tree = {"name": text(body[2][0]), "in": text(body[3][0]), "schema": schema(read(body[5][0]))}
        return found | ({"required": True} if 4 in body else {})
    ((number, (content,)),) = read(inner[2][0]).items()
    parts, (kind, unique) = read(content), PLACES[number]
    assert parts.keys() <= {1, 2, 3, 4, kind, unique}
    found = {
        "in": text(parts[2][0]),
        "description": text(parts[3][0]),
        "name": text(parts[4][0]),
        "type": text(parts[kind][0]),
        "uniqueItems": bool(parts[unique][0]),
    }
    return found | ({"required": True} if 1 in parts else {})


def extensions(fields: Fields, number: int) -> Tree:
    """The extensions, whose values are YAML; ours are JSON, which is YAML too."""
    return {name: json.loads(value[2][0]) for name, value in named(fields.get(number, [])).items()}


def anything(data: bytes) -> Any:
    return json.loads(read(data)[2][0])


def text(data: bytes) -> str:
    return str(data, "utf-8")
