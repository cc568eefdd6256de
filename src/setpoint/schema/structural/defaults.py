"""Validates the defaults in a schema: they must be valid under their own schema, without unknown fields."""

from collections.abc import Callable

from msgspec.structs import replace

from setpoint.objects.errors import join_errors
from setpoint.objects.field import FieldError, child, invalid, key
from setpoint.objects.tree import Json, copy
from setpoint.schema.defaulting import has_default
from setpoint.schema.embedded_resources import coerce_embedded, validate_embedded
from setpoint.schema.openapi import Schema
from setpoint.schema.pruning import META_FIELDS, prune
from setpoint.schema.ratchet import same
from setpoint.schema.violations import find_violations

# Puts a default at its position in an otherwise empty resource.
Surround = Callable[[Json], Json]


def validate_defaults(schema: Schema, path: str) -> list[FieldError]:
    """Returns the errors of all defaults in a structural schema, except violations of rules."""
    if not _any_default(schema):
        return []
    validator = _Validator()
    root = replace(schema, embedded_resource=True)
    validator.node(root, root, path, lambda value: value, False)
    return validator.errors


def _any_default(schema: Schema) -> bool:
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if has_default(node):
            return True
        waiting.extend(node.inner())
    return False


class _Validator:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def node(self, schema: Schema, root: Schema, path: str, surround: Surround, in_metadata: bool) -> None:
        if schema.embedded_resource:
            root, in_metadata = schema, False
            surround = _identity
        if has_default(schema):
            where = child(path, "default")
            if in_metadata:
                self.in_metadata(schema, root, where, surround)
            else:
                self.elsewhere(schema, where)
        if isinstance(schema.items, Schema):
            self.node(schema.items, root, child(path, "items"), lambda value: surround([value]), in_metadata)
        for name, inner in schema.properties.items():
            if not inner.properties and inner.items is None and not has_default(inner):
                continue
            inside = in_metadata or (schema.embedded_resource and name in META_FIELDS)
            self.node(inner, root, key(child(path, "properties"), name), _holding(surround, name), inside)

    def in_metadata(self, schema: Schema, root: Schema, path: str, surround: Surround) -> None:
        """Validates a default of `apiVersion`, `kind`, or in `metadata`: the default must make a valid resource."""
        resource = surround(copy(schema.default))
        if type(resource) is dict:
            resource.setdefault("kind", "Validation")
            resource.setdefault("apiVersion", "validation/v1")
        errors = _resource_errors(resource, root, "")
        if errors:
            detail = f"must result in valid metadata: {join_errors(map(str, errors))}"
            self.errors.append(invalid(path, schema.default, detail))
        else:
            self.by_schema(schema, schema.default, path)

    def elsewhere(self, schema: Schema, path: str) -> None:
        value = copy(schema.default)
        prune(value, schema, root=schema.embedded_resource)
        if not same(value, schema.default):
            self.errors.append(invalid(path, schema.default, "must not have unknown fields"))
        value = copy(schema.default)
        errors = _resource_errors(value, schema, path)
        if errors:
            self.errors.extend(errors)
        else:
            self.by_schema(schema, value, path)

    def by_schema(self, schema: Schema, value: Json, path: str) -> None:
        self.errors += find_violations(value, schema, path=path, as_default=True)


def _resource_errors(value: Json, schema: Schema, path: str) -> list[FieldError]:
    fault, _ = coerce_embedded(value, schema, path)
    return [fault] if fault else validate_embedded(value, schema, path)


def _identity(value: Json) -> Json:
    return value


def _holding(surround: Surround, name: str) -> Surround:
    return lambda value: surround({name: value})
