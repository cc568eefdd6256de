"""Validates a schema of a CustomResourceDefinition: every rule, with the real server's message.

A schema must be structural (`invariants`), use only the keywords that a CRD may use (`keywords`), and have valid
defaults (`defaults`) and CEL rules that compile (`setpoint.schema.cel`).
"""

from collections.abc import Callable

from setpoint.objects.field import OMITTED, FieldError, child, forbidden, invalid
from setpoint.schema.cel import validate_rules
from setpoint.schema.formats import is_recognized
from setpoint.schema.openapi import Schema
from setpoint.schema.structural.defaults import validate_defaults
from setpoint.schema.structural.invariants import validate_invariants
from setpoint.schema.structural.keywords import validate_keywords

__all__ = ["MAX_DEPTH", "unrecognized_formats", "validate_schema"]

# The maximum nesting of schemas. Specific to Setpoint: the real server has a growing stack.
MAX_DEPTH = 100

_AT_ROOT_WITH_STATUS = (
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
)


# Returns the errors of the CEL rules of a schema, including its defaults.
ValidateRules = Callable[[Schema, str], list[FieldError]]


def validate_schema(
    schema: Schema,
    path: str,
    *,
    old: Schema | None = None,
    status_subresource: bool = False,
    rules: ValidateRules = validate_rules,
) -> list[FieldError]:
    """Returns all errors of a schema at `path`; none if the schema is acceptable.

    `status_subresource` is True if the kind has a status subresource, which allows fewer keywords at the root. Rules
    are checked only without other errors, as their types come from the schema; and not again if the schema equals
    `old`, so that a stricter release does not reject a schema that an earlier one accepted.
    """
    if _deeper_than(schema, MAX_DEPTH):
        return [forbidden(path, f"must not nest schemas deeper than {MAX_DEPTH} levels; flatten the schema")]
    errors: list[FieldError] = []
    if status_subresource:
        errors += _validate_root_with_status(schema, path)
    if schema.nullable:
        errors.append(forbidden(child(path, "nullable"), "nullable cannot be true at the root"))
    unsupported = _unsupported(schema)
    if not unsupported:
        errors += validate_invariants(schema, path) or validate_defaults(schema, path)
    errors += validate_keywords(schema, path)
    if not errors and unsupported:
        errors.append(invalid(path, "", unsupported))
    if errors or (old is not None and old.to_json() == schema.to_json()):
        return errors
    return rules(schema, path)


def unrecognized_formats(schema: Schema) -> list[str]:
    """Returns the formats in a schema that are not recognized for their type, sorted and unique, for warnings."""
    found: dict[str, None] = {}
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if node.format and not is_recognized("" if node.int_or_string else node.type, node.format):
            found[node.format] = None
        waiting.extend(node.inner())
    return sorted(found)


def _deeper_than(schema: Schema, limit: int) -> bool:
    level = [schema]
    for _ in range(limit):
        level = [inner for node in level for inner in node.inner()]
        if not level:
            return False
    return True


def _validate_root_with_status(schema: Schema, path: str) -> list[FieldError]:
    # The real server checks the keywords in a fixed order, and reports only the first error.
    first = schema.id or schema.schema_uri or schema.ref is not None
    if schema.type and schema.type != "object" and not first:
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(child(path, "type"), schema.type, detail)]
    if schema.keywords() <= {keyword for _, keyword in _AT_ROOT_WITH_STATUS}:
        return []
    names = " ".join(name for name, _ in _AT_ROOT_WITH_STATUS)
    detail = f"only [{names}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(path, OMITTED, detail)]


def _has_unsupported(schema: Schema) -> bool:
    """Returns True if there is any unsupported keyword: most schemas have none, and this check is cheap."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if (
            node.id
            or node.schema_uri
            or node.ref
            or node.pattern_properties
            or node.dependencies
            or node.additional_items is not None
            or node.definitions
            or node.preserve_unknown_fields is False
            or type(node.items) is list
        ):
            return True
        waiting.extend(node.inner())
    return False


def _unsupported(schema: Schema) -> str:
    """Returns the first keyword that prevents the structural checks of a schema."""
    if not _has_unsupported(schema):
        return ""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        for keyword, value in (
            ("id", node.id),
            ("schema", node.schema_uri),
            ("$ref", node.ref),
            ("patternProperties", node.pattern_properties),
            ("dependencies", node.dependencies),
            ("additionalItems", node.additional_items is not None),
            ("definitions", node.definitions),
        ):
            if value:
                return f"OpenAPIV3Schema '{keyword}' is not supported"
        if node.preserve_unknown_fields is False:
            return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
        if isinstance(node.items, list) and node.items:
            return "OpenAPIV3Schema 'items' must be a schema, but is an array"
        # The real server visits the last child first.
        waiting.extend(inner for _, inner in node.children())
    return ""
