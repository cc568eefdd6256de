"""The invariants of a structural schema: every value is declared, with a type, outside of alternatives.

Inside `allOf`, `anyOf`, `oneOf` and `not`, a schema only restricts values; a schema there neither declares nor
describes them. The root and every embedded resource have string `apiVersion` and `kind` and an object `metadata`, whose
schema may only restrict names.
"""

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from setpoint.objects.field import FieldError, child, forbidden, index, invalid, key, required
from setpoint.schema.openapi import Schema
from setpoint.schema.regex import pattern_error

_UNDEFINED = "must be undefined to be structural"
_EMPTY = "must be empty to be structural"
_FALSE = "must be false to be structural"

_MISSING_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def validate_invariants(schema: Schema, path: str) -> list[FieldError]:
    """Returns the errors of a schema that is not structural, sorted by message."""
    errors: list[FieldError] = []
    _node(schema, "root", path, errors)
    _complete(schema, schema, path, path, errors)
    return sorted(errors, key=str)


def _node(schema: Schema, level: str, path: str, errors: list[FieldError]) -> None:
    items, extra = schema.items, schema.additional_properties
    if isinstance(items, Schema):
        _node(items, "item", child(path, "items"), errors)
    elif schema.type == "array":
        errors.append(required(child(path, "items"), "must be specified"))
    if schema.properties:
        below = child(path, "properties")
        for name, inner in schema.properties.items():
            _node(inner, "field", key(below, name), errors)
    if extra is not None:
        if level == "root":
            errors.append(forbidden(child(path, "additionalProperties"), "must not be used at the root"))
        if isinstance(extra, Schema):
            _node(extra, "field", child(path, "additionalProperties"), errors)
    # Most nodes are plain values with a type: each rule is checked only for nodes that may violate the rule.
    if schema.int_or_string:
        _extensions(schema, path, errors)
    if schema.any_of or schema.all_of or schema.one_of or schema.not_ is not None or schema.pattern:
        _restrictions(
            schema,
            path,
            errors,
            skip_any_of=_is_int_or_string(schema.any_of),
            skip_first_all_of=bool(schema.all_of) and _is_int_or_string(schema.all_of[0].any_of),
        )
    if not schema.type or schema.embedded_resource or level == "root":
        _type(schema, level, path, errors)
    if schema.properties or schema.embedded_resource:
        _resource(schema, level, path, errors)


def _property(path: str, name: str) -> str:
    return key(child(path, "properties"), name)


def _extensions(schema: Schema, path: str, errors: list[FieldError]) -> None:
    """Checks the extensions that exclude int-or-string."""
    detail = "must be false if x-kubernetes-int-or-string is true"
    if schema.preserve_unknown_fields:
        errors.append(invalid(child(path, "x-kubernetes-preserve-unknown-fields"), True, detail))
    if schema.embedded_resource:
        errors.append(invalid(child(path, "x-kubernetes-embedded-resource"), True, detail))


def _type(schema: Schema, level: str, path: str, errors: list[FieldError]) -> None:
    where = child(path, "type")
    if schema.embedded_resource and schema.type != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(where, schema.type, detail) if schema.type else required(where, detail))
    elif not schema.type and not schema.int_or_string and not schema.preserve_unknown_fields:
        errors.append(required(where, _MISSING_TYPE[level]))
    if schema.embedded_resource and schema.additional_properties is not None:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(child(path, "additionalProperties"), detail))
    if level == "root" and schema.type and schema.type != "object":
        errors.append(invalid(where, schema.type, "must be object at the root"))


def _resource(schema: Schema, level: str, path: str, errors: list[FieldError]) -> None:
    """Checks the fields that every resource has."""
    resource = level == "root" or schema.embedded_resource
    if resource:
        for name in ("kind", "apiVersion"):
            declared = schema.properties.get(name)
            if declared is not None and declared.type != "string":
                errors.append(invalid(child(_property(path, name), "type"), declared.type, "must be string"))
    metadata = schema.properties.get("metadata")
    if metadata is not None:
        where = _property(path, "metadata")
        if resource and metadata.type != "object":
            errors.append(invalid(child(where, "type"), metadata.type, "must be object"))
        if level == "root" and not _restricts_only_names(metadata):
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(where, detail))
    if schema.embedded_resource and not schema.preserve_unknown_fields and not schema.properties:
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(child(path, "properties"), detail))


def _restricts_only_names(metadata: Schema) -> bool:
    # Another check rejects its default, with a different message.
    names = {} if metadata.properties.keys() <= {"name", "generateName"} else metadata.properties
    return not replace(metadata, type="", default=UNSET, properties=names).to_json()


def _is_int_or_string(branches: Sequence[Schema]) -> bool:
    if len(branches) != 2 or branches[0].type != "integer" or branches[1].type != "string":
        return False
    return all(branch.has_only("type") for branch in branches)


def _restrictions(
    schema: Schema, path: str, errors: list[FieldError], skip_any_of: bool = False, skip_first_all_of: bool = False
) -> None:
    """Checks the alternatives and the pattern of a schema. Alternatives that express int-or-string may use types."""
    if not skip_any_of:
        for position, branch in enumerate(schema.any_of):
            _nested(branch, index(child(path, "anyOf"), position), errors)
    for position, branch in enumerate(schema.all_of):
        _nested(branch, index(child(path, "allOf"), position), errors, skip_first_all_of and position == 0)
    for position, branch in enumerate(schema.one_of):
        _nested(branch, index(child(path, "oneOf"), position), errors)
    if schema.not_ is not None:
        _nested(schema.not_, child(path, "not"), errors)
    if schema.pattern and (fault := pattern_error(schema.pattern)):
        detail = f"must be a valid regular expression, but isn't: {fault}"
        errors.append(invalid(child(path, "pattern"), schema.pattern, detail))


def _nested(schema: Schema, path: str, errors: list[FieldError], skip_any_of: bool = False) -> None:
    """Checks a schema inside an alternative, which may only restrict values."""
    _restrictions(schema, path, errors, skip_any_of)
    if isinstance(schema.items, Schema):
        _nested(schema.items, child(path, "items"), errors)
    for name, inner in schema.properties.items():
        _nested(inner, _property(path, name), errors)
    for keyword, value, detail in (
        ("type", schema.type, _EMPTY),
        ("additionalProperties", schema.additional_properties, _UNDEFINED),
        ("default", schema.default is not UNSET and schema.default is not None, _UNDEFINED),
        ("title", schema.title, _EMPTY),
        ("description", schema.description, _EMPTY),
        ("nullable", schema.nullable, _FALSE),
        ("x-kubernetes-preserve-unknown-fields", schema.preserve_unknown_fields, _FALSE),
        ("x-kubernetes-embedded-resource", schema.embedded_resource, _FALSE),
        ("x-kubernetes-int-or-string", schema.int_or_string, _FALSE),
        ("x-kubernetes-list-map-keys", schema.list_map_keys, _EMPTY),
        ("x-kubernetes-list-type", schema.list_type is not None, _UNDEFINED),
        ("x-kubernetes-map-type", schema.map_type is not None, _UNDEFINED),
        ("x-kubernetes-validations", schema.validations, _EMPTY),
    ):
        if value:
            errors.append(forbidden(child(path, keyword), detail))
    if "metadata" in schema.properties:
        errors.append(forbidden(_property(path, "metadata"), "must not be specified in a nested context"))


def _complete(restricting: Schema, declared: Schema, where: str, reported_at: str, errors: list[FieldError]) -> None:
    """Checks that all fields restricted by the alternatives of the root are declared outside of them."""
    if restricting.not_ is not None:
        _declared(restricting.not_, declared, where, child(reported_at, "not"), errors)
    for keyword, branches in (
        ("allOf", restricting.all_of),
        ("anyOf", restricting.any_of),
        ("oneOf", restricting.one_of),
    ):
        for position, branch in enumerate(branches):
            _declared(branch, declared, where, index(child(reported_at, keyword), position), errors)


def _declared(branch: Schema, declared: Schema, where: str, reported_at: str, errors: list[FieldError]) -> None:
    _complete(branch, declared, where, reported_at, errors)
    if isinstance(branch.items, Schema):
        items, inner_at = declared.items, child(reported_at, "items")
        if isinstance(items, Schema):
            _declared(branch.items, items, child(where, "items"), inner_at, errors)
        else:
            errors.append(required(child(where, "items"), f"because it is defined in {inner_at}"))
    for name, inner in branch.properties.items():
        inner_at, counterpart = _property(reported_at, name), declared.properties.get(name)
        if counterpart is not None:
            _declared(inner, counterpart, _property(where, name), inner_at, errors)
        else:
            errors.append(required(_property(where, name), f"because it is defined in {inner_at}"))
