"""The OpenAPI v3 schema of a custom resource as a typed tree: every keyword of a CRD, allowed or not.

`Schema.parse` reads the JSON of `openAPIV3Schema`. The acceptance rules decide which combinations are *accepted*; this
module only defines the keywords. A schema tree is never changed after parsing.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET

from setpoint.objects.tree import Json, Object

_RENAMED = {
    "ref": "$ref",
    "schema_uri": "$schema",
    "all_of": "allOf",
    "any_of": "anyOf",
    "one_of": "oneOf",
    "not_": "not",
    "int_or_string": "x-kubernetes-int-or-string",
    "embedded_resource": "x-kubernetes-embedded-resource",
    "preserve_unknown_fields": "x-kubernetes-preserve-unknown-fields",
    "list_type": "x-kubernetes-list-type",
    "list_map_keys": "x-kubernetes-list-map-keys",
    "map_type": "x-kubernetes-map-type",
    "validations": "x-kubernetes-validations",
    "patch_strategy": "x-kubernetes-patch-strategy",
    "patch_merge_key": "x-kubernetes-patch-merge-key",
}


def _rename(name: str) -> str:
    if name in _RENAMED:
        return _RENAMED[name]
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


# The default of map keywords. Shared: with a list and a dict for each node, a large schema consisted mostly of empty
# containers, which the garbage collector visited repeatedly.
NOTHING: Mapping[str, Any] = MappingProxyType({})


# The number of properties that are read in one call.
_WIDE = 64

S = TypeVar("S", bound="Schema")


class ValidationRule(msgspec.Struct, rename="camel", kw_only=True, frozen=True, gc=False):
    """One CEL rule of `x-kubernetes-validations`."""

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


class Schema(msgspec.Struct, rename=_rename, kw_only=True, eq=False, gc=False):
    """One node of a schema. Nodes compare by identity: the node is the cache key of its compiled schema."""

    type: str = ""
    format: str = ""
    title: str = ""
    description: str = ""
    nullable: bool = False
    # UNSET without a default: None would be the JSON null.
    default: Any = UNSET
    example: Any = UNSET
    external_docs: Any = None

    enum: list[Any] | None = None
    maximum: int | float | None = None
    minimum: int | float | None = None
    exclusive_maximum: bool = False
    exclusive_minimum: bool = False
    multiple_of: int | float | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str = ""
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None
    required: Sequence[str] = ()

    properties: Mapping[str, "Schema"] = NOTHING
    additional_properties: "Schema | bool | None" = None
    items: "Schema | list[Schema] | None" = None
    all_of: "Sequence[Schema]" = ()
    any_of: "Sequence[Schema]" = ()
    one_of: "Sequence[Schema]" = ()
    not_: "Schema | None" = None

    int_or_string: bool = False
    embedded_resource: bool = False
    preserve_unknown_fields: bool | None = None
    list_type: str | None = None
    list_map_keys: Sequence[str] = ()
    map_type: str | None = None
    validations: Sequence[ValidationRule] = ()

    # Only the schemas of the built-in kinds have these; a CRD may not.
    patch_strategy: str = ""
    patch_merge_key: str = ""

    # Not allowed in a CRD, and read only so that errors can name them.
    id: str = ""
    ref: str | None = None
    schema_uri: str = ""
    definitions: Mapping[str, Any] = NOTHING
    pattern_properties: Mapping[str, Any] = NOTHING
    additional_items: Any = None
    dependencies: Mapping[str, Any] = NOTHING

    @classmethod
    def parse(cls, tree: Json) -> Self:
        """Parses the JSON of an `openAPIV3Schema`. Raises `msgspec.ValidationError` if a keyword has a wrong type."""
        try:
            try:
                return _parse(tree, cls)
            except msgspec.ValidationError:
                # Again as a whole, for the path in the error.
                return msgspec.convert(tree, cls)
        except RecursionError:
            raise msgspec.ValidationError("the schema is nested too deeply") from None

    def to_json(self) -> Object:
        """Returns the JSON of the schema, without keywords that have their default value."""
        return {keyword: value if keyword in _ANY_JSON else _json_of(value) for keyword, value in self._keywords()}

    def keywords(self) -> set[str]:
        """Returns the keywords of the schema. Cheaper than `to_json`, which also converts their values."""
        return {keyword for keyword, _ in self._keywords()}

    def has_only(self, keyword: str) -> bool:
        """Returns True if the schema has only this keyword."""
        keywords = self._keywords()
        first = next(keywords, None)
        return first is not None and first[0] == keyword and next(keywords, None) is None

    def _keywords(self) -> Iterator[tuple[str, Any]]:
        for name, keyword, unsaid in _KEYWORDS:
            value = getattr(self, name)
            if value is unsaid or value is UNSET or (value == unsaid and type(value) is type(unsaid)):
                continue
            if not value and (unsaid == () or unsaid is NOTHING):
                continue
            yield keyword, value

    def inner(self) -> "list[Schema]":
        """Returns the schemas directly inside this one."""
        found = list(self.properties.values()) if self.properties else []
        if self.all_of or self.any_of or self.one_of:
            found += (*self.all_of, *self.any_of, *self.one_of)
        extra, items = self.additional_properties, self.items
        if isinstance(extra, Schema):
            found.append(extra)
        if items is not None:
            if isinstance(items, Schema):
                found.append(items)
            else:
                found += items
        if self.not_ is not None:
            found.append(self.not_)
        return found

    def children(self) -> "Iterator[tuple[str, Schema]]":
        """Yields the schemas directly inside this one, each with its path (`properties[a]`)."""
        for name, schema in self.properties.items():
            yield f"properties[{name}]", schema
        for keyword, inner in (("additionalProperties", self.additional_properties), ("not", self.not_)):
            if isinstance(inner, Schema):
                yield keyword, inner
        if isinstance(self.items, Schema):
            yield "items", self.items
        for keyword, branches in (
            ("items", self.items if isinstance(self.items, list) else []),
            ("allOf", self.all_of),
            ("anyOf", self.any_of),
            ("oneOf", self.one_of),
        ):
            for position, schema in enumerate(branches):
                yield f"{keyword}[{position}]", schema


def _parse(tree: Json, kind: type[S]) -> S:
    """Parses a schema, a wide one by property: one call for thousands of nodes would block all other threads."""
    fields = tree.get("properties") if type(tree) is dict else None
    if type(fields) is not dict or not fields:
        items = tree.get("items") if type(tree) is dict else None
        if type(items) is not dict:
            return msgspec.convert(tree, kind)
        found = msgspec.convert({**tree, "items": None}, kind)
        found.items = _parse(items, kind)
        return found
    found = msgspec.convert({**tree, "properties": {}}, kind)
    if len(fields) > _WIDE:
        names = list(fields)
        parts = [names[start : start + _WIDE] for start in range(0, len(names), _WIDE)]
        found.properties = {
            name: inner
            for part in parts
            for name, inner in msgspec.convert({name: fields[name] for name in part}, dict[str, kind]).items()  # type: ignore[valid-type]
        }
    else:
        found.properties = {name: _parse(inner, kind) for name, inner in fields.items()}
    return found


def _json_of(value: Any) -> Json:
    if isinstance(value, Schema):
        return value.to_json()
    if isinstance(value, ValidationRule):
        return {key: item for key, item in msgspec.to_builtins(value).items() if item not in ("", None)}
    if isinstance(value, dict):
        return {key: _json_of(item) for key, item in value.items()}
    return [_json_of(item) for item in value] if isinstance(value, list | tuple) else value


def _unsaid(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


_ANY_JSON = ("default", "example", "enum", "definitions", "patternProperties", "additionalItems", "dependencies")
# Each keyword: the name of its attribute, its name in JSON, and its default value.
_KEYWORDS = [(field.name, field.encode_name, _unsaid(field)) for field in msgspec.structs.fields(Schema)]
