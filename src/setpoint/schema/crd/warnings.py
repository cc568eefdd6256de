"""The warnings about a valid definition: unrecognized formats, and sets that cannot be merged."""

from collections.abc import Iterator

import msgspec

from setpoint.objects.gotext import quote
from setpoint.objects.tree import Object
from setpoint.schema.crd.definition import CustomResourceDefinition
from setpoint.schema.openapi import Schema
from setpoint.schema.structural import unrecognized_formats


def warnings_on_create(tree: Object) -> list[str]:
    """Returns the texts of the `Warning` headers for a new definition."""
    schemas = _schemas(tree)
    return [*_format_warnings(schemas), *_set_warnings(schemas)]


def warnings_on_update(tree: Object, old: Object) -> list[str]:
    """Returns the texts for an updated definition: only new ones."""
    known = set(warnings_on_create(old))
    return [warning for warning in warnings_on_create(tree) if warning not in known]


def every_schema(schema: Schema) -> Iterator[Schema]:
    """Yields the schema and all schemas inside."""
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(here.inner())


def _schemas(tree: Object) -> list[Schema]:
    """Returns the schemas of all versions. Equal warnings are reported once."""
    found: list[Schema] = []
    for version in CustomResourceDefinition.parse(tree).spec.versions:
        try:
            if version.openapi_schema is not None:
                found.append(Schema.parse(version.openapi_schema))
        except msgspec.ValidationError:
            continue
    return found


def _format_warnings(schemas: list[Schema]) -> list[str]:
    found = dict.fromkeys(name for schema in schemas for name in unrecognized_formats(schema))
    return [f"unrecognized format {quote(name)}" for name in found]


def _set_warnings(schemas: list[Schema]) -> list[str]:
    found = {
        here.items.type
        for schema in schemas
        for here in every_schema(schema)
        if here.list_type == "set" and isinstance(here.items, Schema) and here.items.type in ("array", "object")
    }
    return [
        f"x-kubernetes-list-type: set for items of type {quote(kind)} is not supported by server-side apply or CEL "
        "validation rules"
        for kind in sorted(found)
    ]
