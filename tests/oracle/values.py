"""Values and mutations of objects, drawn from the schemas of the OpenAPI document."""

from random import Random
from typing import Any

from tests.oracle.kinds import Kind

_STRINGS = (
    *("", "a", "x-1", "A_B", "a.b", "example.com/a", "1.2.3.4", "10.9.0.0/16", "100m", "1Gi", "None", "0", "true"),
    *("-x", "a b", "é", "x" * 64, "http", "*", "2001-02-03T04:05:06Z", "50%", "/a/b", "Always", "TCP", "b25l"),
)
_NUMBERS = (0, 1, 2, 3, 30, 80, -1, 100, 65536, 2147483648)
_DEPTH = 4


def resolved(schema: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """The schema behind references."""
    while True:
        if "$ref" in schema:
            schema = kind.schemas.get(schema["$ref"].rpartition("/")[2], {})
        elif len(schema.get("allOf", ())) == 1:
            schema = schema["allOf"][0]
        else:
            return schema


def value(random: Random, schema: dict[str, Any], kind: Kind, depth: int = 0) -> Any:
    """A value that fits the type of the schema; it may still be invalid."""
    schema = resolved(schema, kind)
    if random.random() < 0.02:
        return random.choice((None, "wrong", 7, [], {}, True))
    if "enum" in schema and random.random() < 0.9:
        return random.choice(schema["enum"])
    match schema.get("type"):
        case "string":
            if schema.get("format") == "date-time":
                return random.choice(("2001-02-03T04:05:06Z", "2001-02-03T04:05:06.123456Z", "yesterday"))
            return random.choice(_STRINGS)
        case "integer":
            return random.choice(_NUMBERS)
        case "number":
            return random.choice((0, 1, 0.5, -1.25))
        case "boolean":
            return random.random() < 0.5
        case "array":
            count = 0 if depth >= _DEPTH else random.randrange(3)
            return [value(random, schema.get("items", {}), kind, depth + 1) for _ in range(count)]
        case "object":
            return _object(random, schema, kind, depth)
    return random.choice(("a", 1, "10%", "1Gi", {"a": 1}, None))


def _object(random: Random, schema: dict[str, Any], kind: Kind, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    if not properties:
        more = schema.get("additionalProperties")
        if not isinstance(more, dict) or depth >= _DEPTH:
            return {}
        return {
            random.choice(("a", "cpu", "x/y")): value(random, more, kind, depth + 1) for _ in range(random.randrange(3))
        }
    chosen = set(schema.get("required", ()))
    if depth < _DEPTH:
        chosen |= {key for key in properties if random.random() < 2 / (len(properties) + 1)}
    return {key: value(random, properties[key], kind, depth + 1) for key in sorted(chosen) if key in properties}


def mutated(random: Random, tree: Any, kind: Kind) -> Any:
    """A copy of an object with one change somewhere below its top level, or in its metadata."""
    schema = kind.schema
    path: list[str | int] = []
    node = tree
    while True:
        schema = resolved(schema, kind)
        if isinstance(node, dict):
            key, schema = _key(random, node, schema)
            if not path and key in ("apiVersion", "kind", "status") and random.random() < 0.9:
                schema = kind.schema
                continue
            path.append(key)
            if key not in node or not isinstance(node[key], dict | list) or random.random() < 0.12:
                return _changed(tree, path, random, schema, kind)
            node = node[key]
        elif isinstance(node, list):
            schema = schema.get("items", {})
            if not node or random.random() < 0.2:
                added = random.choice(node) if node and random.random() < 0.4 else value(random, schema, kind)
                return _set(tree, path, [*node, added])
            index = random.randrange(len(node))
            path.append(index)
            if not isinstance(node[index], dict | list):
                return _changed(tree, path, random, schema, kind)
            node = node[index]


def _key(random: Random, node: dict[str, Any], schema: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    properties = schema.get("properties") or {}
    draw = random.random()
    if draw < 0.04:
        return "unknownField", {"type": "string"}
    if properties and (draw < 0.4 or not node):
        key = random.choice(sorted(properties))
        return key, properties[key]
    if not node:
        more = schema.get("additionalProperties")
        return "added", more if isinstance(more, dict) else {"type": "string"}
    key = random.choice(sorted(node))
    more = schema.get("additionalProperties")
    return key, properties.get(key) or (more if isinstance(more, dict) else {})


def _changed(tree: Any, path: list[str | int], random: Random, schema: dict[str, Any], kind: Kind) -> Any:
    draw = random.random()
    if draw < 0.1:
        return _set(tree, path, None)
    if draw < 0.17 and isinstance(path[-1], str):
        return _without(tree, path)
    if draw < 0.22:
        return _set(tree, path, random.choice(("wrong", 7, [], {}, True, 1.5)))
    return _set(tree, path, value(random, schema, kind))


def _set(tree: Any, path: list[str | int], new: Any) -> Any:
    """A copy of the tree with another value at the path."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(tree, list):
        assert isinstance(key, int)
        return [*tree[:key], _set(tree[key], rest, new), *tree[key + 1 :]]
    return {**tree, key: _set(tree.get(key), rest, new)}


def _without(tree: Any, path: list[str | int]) -> Any:
    key, rest = path[0], path[1:]
    if isinstance(tree, list):
        assert isinstance(key, int)
        return [*tree[:key], _without(tree[key], rest), *tree[key + 1 :]]
    if not rest:
        return {other: kept for other, kept in tree.items() if other != key}
    return {**tree, key: _without(tree[key], rest)}
