"""Validates the paths in a definition: of printer columns, of the scale subresource, of selectable fields."""

import re

from setpoint.objects.field import FieldError, child, duplicate, index, invalid, required, too_many
from setpoint.schema.crd.definition import Column, SelectableField, Subresources
from setpoint.schema.openapi import Schema

MAX_SELECTABLE_FIELDS = 8

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_TOKEN = re.compile(r"[.\[\]]|[^.\[\]]+")


class _BadPathError(ValueError):
    pass


def validate_simple_path(value: str, path: str) -> list[FieldError]:
    """Validates a path that starts with a dot. The rest is not checked: an invalid path only shows an empty cell."""
    if value.startswith("."):
        return []
    return [invalid(path, value, "must be a simple json path starting with ." if value else "must not be empty")]


def validate_columns(columns: list[Column], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, column in enumerate(columns):
        here = index(path, position)
        if not column.name:
            errors.append(required(child(here, "name")))
        one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column.type:
            errors.append(required(child(here, "type"), one_of))
        elif column.type not in _COLUMN_TYPES:
            errors.append(invalid(child(here, "type"), column.type, one_of))
        if column.format and column.format not in _COLUMN_FORMATS:
            one_of = f"must be one of {','.join(_COLUMN_FORMATS)}"
            errors.append(invalid(child(here, "format"), column.format, one_of))
        if column.json_path:
            errors += validate_simple_path(column.json_path, child(here, "JSONPath"))
        else:
            errors.append(required(child(here, "JSONPath")))
    return errors


def validate_subresources(subresources: Subresources | None, path: str) -> list[FieldError]:
    scale = subresources.scale if subresources else None
    if scale is None:
        return []
    errors: list[FieldError] = []

    def under(name: str, value: str | None, roots: tuple[str, ...], where: str) -> None:
        here = child(path, f"scale.{name}")
        if not value:
            errors.append(required(here))
        elif problems := validate_simple_path(value, here):
            errors.extend(problems)
        elif not value.startswith(roots):
            errors.append(invalid(here, value, f"should be a json path under {where}"))

    under("specReplicasPath", scale.spec_replicas_path, (".spec.",), ".spec")
    under("statusReplicasPath", scale.status_replicas_path, (".status.",), ".status")
    if scale.label_selector_path:
        under("labelSelectorPath", scale.label_selector_path, (".spec.", ".status."), "either .spec or .status")
    return errors


def validate_selectable_fields(
    fields: list[SelectableField], schema: Schema, path: str, *, any_number: bool = False
) -> list[FieldError]:
    """Validates paths to declared fields of scalar types; `any_number` lets an older definition keep more."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, field in enumerate(fields):
        here = child(index(path, position), "jsonPath")
        if not field.json_path:
            errors.append(required(here))
            continue
        try:
            names, found = _declared(field.json_path, schema)
        except _BadPathError as problem:
            errors.append(invalid(here, field.json_path, f"is an invalid path: {problem}"))
            continue
        if names[:1] == ["metadata"]:
            errors.append(invalid(here, field.json_path, "must not point to fields in metadata"))
        if found is None or found.type not in ("string", "boolean", "integer"):
            wanted = "must point to a field of type string, boolean or integer."
            note = "Enum string fields and strings with formats are allowed."
            errors.append(invalid(here, field.json_path, f"{wanted} {note}"))
        if field.json_path in seen:
            errors.append(duplicate(here, field.json_path))
        seen.add(field.json_path)
    if len(seen) > MAX_SELECTABLE_FIELDS and not any_number:
        errors.append(too_many(path, len(seen), MAX_SELECTABLE_FIELDS))
    return errors


def _declared(json_path: str, schema: Schema) -> tuple[list[str], Schema | None]:
    """Returns the field names of a path of plain fields, and the schema at its end."""
    names: list[str] = []
    here: Schema | None = schema
    tokens = (found.group() for found in _TOKEN.finditer(json_path))
    for token in tokens:
        if token == "[":
            raise _BadPathError("array notation is not allowed")
        if token != ".":
            raise _BadPathError(f"expected [ or . but got: {token}")
        name = next(tokens, None)
        if name is None:
            raise _BadPathError("unexpected end of JSON path")
        if here is not None and here.properties:
            here = here.properties.get(name)
        elif here is not None and isinstance(here.additional_properties, Schema):
            here = here.additional_properties
        else:
            here = None
        if here is None:
            raise _BadPathError("does not refer to a valid field")
        names.append(name)
    return names, here
