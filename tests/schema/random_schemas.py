"""Random structural schemas, and trees that more or less fit them, made from a seed.

Plain code and not hypothesis strategies: a schema is hundreds of choices, which hypothesis would keep account of one by
one. A failing seed stays failing, and the schema is printed as JSON.
"""

from random import Random
from typing import Any

NAMES = ("a", "b", "c", "x y", "é", "class", "__import__('os')", 'q"\\\n')
TEXTS = ("", "a", "ab", "abc", "b", "é", "1.2.3.4", "2020-01-01", "YQ==")
NUMBERS = (0, 1, 2, 3, -1, 10, 0.5, 1.5, 2.5, 3.0, 1e6, 2**31)
SCALARS = (None, True, False, *NUMBERS, *TEXTS)

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"


class Maker:
    """Makes schemas and trees from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pick = self.random.choice

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def root(self) -> dict[str, Any]:
        return self.object(3)

    def schema(self, depth: int) -> dict[str, Any]:
        kind = self.random.randrange(10) if depth else 9
        if kind < 3:
            schema = self.object(depth)
            if self.chance(15):
                schema[PRESERVE] = True
        elif kind < 5:
            extra = self.pick([True, False, None, None])
            schema = {"type": "object", "additionalProperties": self.schema(depth - 1) if extra is None else extra}
            if self.chance(20):
                schema["minProperties"] = 1
        elif kind < 7:
            schema = self.list(depth)
        else:
            schema = self.scalar()
        if self.chance(15):
            schema["nullable"] = True
        if self.chance(20):
            self.alternatives(schema)
        if self.chance(25):
            schema["default"] = self.tree(schema, 0)
        return schema

    def object(self, depth: int) -> dict[str, Any]:
        names = self.random.sample(NAMES, self.random.randint(1, 4))
        schema: dict[str, Any] = {"type": "object", "properties": {name: self.schema(depth - 1) for name in names}}
        if self.chance(30):
            schema["required"] = self.random.sample(NAMES, 2)
        if self.chance(15):
            schema["maxProperties"] = self.random.randint(0, 4)
        return schema

    def list(self, depth: int) -> dict[str, Any]:
        kind = self.random.randrange(3)
        schema: dict[str, Any] = {"type": "array", "items": self.schema(depth - 1)}
        if kind == 1:
            schema["items"] = {"type": self.pick(["string", "integer", "number"])}
            schema["x-kubernetes-list-type"] = "set"
        elif kind == 2:
            keys = {"a": {"type": "string"}, "b": {"type": "integer"}}
            properties = {**keys, "c": self.schema(depth - 1)}
            schema["items"] = {"type": "object", "required": ["a", "b"], "properties": properties}
            schema["x-kubernetes-list-type"] = "map"
            schema["x-kubernetes-list-map-keys"] = self.pick([["a"], ["a", "b"]])
        if self.chance(20):
            schema[self.pick(["minItems", "maxItems"])] = self.random.randint(0, 3)
        return schema

    def scalar(self) -> dict[str, Any]:
        kind = self.pick(["string", "integer", "number", "boolean", INT_OR_STRING, PRESERVE])
        if kind == PRESERVE:
            return {PRESERVE: True}
        if kind == INT_OR_STRING:
            schema: dict[str, Any] = {INT_OR_STRING: True}
            if self.chance(30):
                schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
            return {**self.restriction(), **schema}
        return {"type": kind, **self.restriction()}

    def restriction(self) -> dict[str, Any]:
        """Keywords that restrict scalars, whether or not they are about the right ones."""
        options: dict[str, Any] = {
            "minLength": self.random.randint(0, 3),
            "maxLength": self.random.randint(0, 4),
            "pattern": self.pick(["^a", "b$", "^[a-c]*$", "a|b", "(a+)+$"]),
            "minimum": self.pick([0, 1, -1, 2]),
            "maximum": self.pick([1, 3, 10, 2.5]),
            "exclusiveMinimum": True,
            "multipleOf": self.pick([1, 2, 0.5]),
            "enum": self.random.sample(TEXTS, 2) + self.random.sample(NUMBERS[:6], 2),
            "format": self.pick(["date", "ipv4", "int32", "bogus"]),
        }
        return {name: options[name] for name in self.random.sample(sorted(options), self.random.randint(0, 3))}

    def alternatives(self, schema: dict[str, Any]) -> None:
        keyword = self.pick(["anyOf", "oneOf", "allOf", "not"])
        if keyword in schema:
            return
        branches = [self.branch(1) for _ in range(self.random.randint(1, 3))]
        schema[keyword] = branches[0] if keyword == "not" else branches

    def branch(self, depth: int) -> dict[str, Any]:
        schema = self.restriction()
        if self.chance(40):
            schema["required"] = self.random.sample(NAMES, 1)
        if depth and self.chance(40):
            schema["properties"] = {self.pick(NAMES): self.branch(depth - 1)}
        if depth and self.chance(20):
            self.alternatives(schema)
        return schema

    def tree(self, schema: dict[str, Any], wildness: int = 5) -> Any:
        """A value that mostly fits; `wildness` percent of what is inside it is anything at all."""
        if self.chance(wildness):
            return self.anything(2)
        if schema.get("enum") and self.chance(60):
            return self.pick(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            return self.fields(schema, wildness)
        if kind == "array":
            return [self.tree(schema["items"], wildness) for _ in range(self.random.randint(0, 3))]
        if schema.get(INT_OR_STRING):
            return self.pick([0, 1, 2, *TEXTS])
        values = {"string": TEXTS, "integer": NUMBERS, "number": NUMBERS, "boolean": (True, False)}
        return self.pick(values[kind]) if kind else self.anything(2)

    def fields(self, schema: dict[str, Any], wildness: int) -> dict[str, Any]:
        found = {}
        for name, inner in schema.get("properties", {}).items():
            if self.chance(70) or name in schema.get("required", []):
                found[name] = self.tree(inner, wildness)
        extra = schema.get("additionalProperties")
        for name in self.random.sample(NAMES, 2):
            if extra is not None:
                found[name] = self.tree(extra, wildness) if isinstance(extra, dict) else self.pick(SCALARS)
            elif self.chance(wildness):
                found[name] = self.anything(2)
        return found

    def anything(self, depth: int) -> Any:
        kind = self.random.randrange(4) if depth else 3
        if kind == 0:
            return {name: self.anything(depth - 1) for name in self.random.sample(NAMES, self.random.randint(0, 3))}
        if kind == 1:
            return [self.anything(depth - 1) for _ in range(self.random.randint(0, 2))]
        return self.pick(SCALARS)
