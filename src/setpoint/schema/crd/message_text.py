"""Versions and schemas in the messages of the real server: complete, under the names of its Go types.

The texts are long, but clients compare messages; the values are formatted JSON, because the order of the fields is that
of the Go declarations.
"""

import msgspec

from setpoint.objects.gotext import RawJson, compact_json
from setpoint.objects.tree import Json
from setpoint.schema.crd.definition import Column, Subresources, Version
from setpoint.schema.openapi import Schema, ValidationRule

# Go's name for each keyword, in the order of the declaration.
_SCHEMA_FIELDS = [
    ("ID", "id"),
    ("Schema", "schema_uri"),
    ("Ref", "ref"),
    ("Description", "description"),
    ("Type", "type"),
    ("Nullable", "nullable"),
    ("Format", "format"),
    ("Title", "title"),
    ("Default", "default"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusive_maximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusive_minimum"),
    ("MaxLength", "max_length"),
    ("MinLength", "min_length"),
    ("Pattern", "pattern"),
    ("MaxItems", "max_items"),
    ("MinItems", "min_items"),
    ("UniqueItems", "unique_items"),
    ("MultipleOf", "multiple_of"),
    ("Enum", "enum"),
    ("MaxProperties", "max_properties"),
    ("MinProperties", "min_properties"),
    ("Required", "required"),
    ("Items", "items"),
    ("AllOf", "all_of"),
    ("OneOf", "one_of"),
    ("AnyOf", "any_of"),
    ("Not", "not_"),
    ("Properties", "properties"),
    ("AdditionalProperties", "additional_properties"),
    ("PatternProperties", "pattern_properties"),
    ("Dependencies", "dependencies"),
    ("AdditionalItems", "additional_items"),
    ("Definitions", "definitions"),
    ("ExternalDocs", "external_docs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "preserve_unknown_fields"),
    ("XEmbeddedResource", "embedded_resource"),
    ("XIntOrString", "int_or_string"),
    ("XListMapKeys", "list_map_keys"),
    ("XListType", "list_type"),
    ("XMapType", "map_type"),
    ("XValidations", "validations"),
]


def shown_schema(schema: Schema) -> RawJson:
    """Formats a whole schema as the bad value of an error."""
    return RawJson(_schema(schema))


def shown_versions(
    versions: list[Version], schemas: list[Schema | None] | None, *, subresources: bool, columns: bool, fields: bool
) -> RawJson | None:
    """Formats all versions as the bad value of an error; `schemas` and the flags select the parts that differ."""
    texts = []
    for position, version in enumerate(versions):
        holder = None
        if schemas is not None and version.schema is not None:
            schema = schemas[position]
            holder = _object(("OpenAPIV3Schema", None if schema is None else _schema(schema)))
        table = list(map(_column, version.additional_printer_columns))
        paths = [_object(("JSONPath", compact_json(field.json_path))) for field in version.selectable_fields]
        texts.append(
            _object(
                ("Name", compact_json(version.name)),
                ("Served", compact_json(version.served)),
                ("Storage", compact_json(version.storage)),
                ("Deprecated", compact_json(version.deprecated)),
                ("DeprecationWarning", compact_json(version.deprecation_warning)),
                ("Schema", holder),
                ("Subresources", _subresources(version.subresources) if subresources else None),
                ("AdditionalPrinterColumns", _list(table) if columns else None),
                ("SelectableFields", _list(paths) if fields else None),
            )
        )
    found = _list(texts)
    return None if found is None else RawJson(found)


def _object(*fields: tuple[str, str | None]) -> str:
    return "{" + ",".join(f"{compact_json(name)}:{text or 'null'}" for name, text in fields) + "}"


def _list(texts: list[str]) -> str | None:
    return f"[{','.join(texts)}]" if texts else None


def _column(column: Column) -> str:
    return _object(
        ("Name", compact_json(column.name)),
        ("Type", compact_json(column.type)),
        ("Format", compact_json(column.format)),
        ("Description", compact_json(column.description)),
        ("Priority", compact_json(column.priority)),
        ("JSONPath", compact_json(column.json_path)),
    )


def _subresources(found: Subresources | None) -> str | None:
    if found is None:
        return None
    scale = None
    if found.scale is not None:
        scale = _object(
            ("SpecReplicasPath", compact_json(found.scale.spec_replicas_path)),
            ("StatusReplicasPath", compact_json(found.scale.status_replicas_path)),
            ("LabelSelectorPath", compact_json(found.scale.label_selector_path)),
        )
    return _object(("Status", None if found.status is None else "{}"), ("Scale", scale))


def _schema(schema: Schema) -> str:
    return _object(*((go_name, _keyword(name, getattr(schema, name))) for go_name, name in _SCHEMA_FIELDS))


def _keyword(name: str, value: Json) -> str | None:
    if value is msgspec.UNSET or value is None or value == [] or value == () or value == {}:
        return None
    if name == "items":
        one = _schema(value) if isinstance(value, Schema) else None
        return _object(("Schema", one), ("JSONSchemas", _list(list(map(_schema, value))) if one is None else None))
    if name == "additional_properties":
        return _object(
            ("Allows", compact_json(value is not False)),
            ("Schema", _schema(value) if isinstance(value, Schema) else None),
        )
    if isinstance(value, Schema):
        return _schema(value)
    if name == "properties":
        return _object(*((key, _schema(value[key])) for key in sorted(value)))
    if name in ("all_of", "any_of", "one_of"):
        return _list(list(map(_schema, value)))
    return _list(list(map(_rule, value))) if name == "validations" else compact_json(value)


def _rule(rule: ValidationRule) -> str:
    return _object(
        ("Rule", compact_json(rule.rule)),
        ("Message", compact_json(rule.message)),
        ("MessageExpression", compact_json(rule.message_expression)),
        ("Reason", compact_json(rule.reason)),
        ("FieldPath", compact_json(rule.field_path)),
        ("OptionalOldSelf", compact_json(rule.optional_old_self)),
    )
