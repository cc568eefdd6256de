"""Whole objects in expressions: the built-in kinds by their definitions, custom resources by their schema.

Each definition is one object type with its own name, so that a definition may contain itself.
"""

from setpoint.schema import builtin
from setpoint.schema.cel.declarations import Declaration, declare
from setpoint.schema.cel.types import STRING
from setpoint.schema.openapi import Schema

_PREFIX = "#/definitions/"
_OBJECT_META = f"{_PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# Declarations by definition. They never change, and their number is that of the definitions.
_known: dict[str, Declaration | None] = {}


def declare_definition(name: str) -> Declaration | None:
    """Returns the declaration of a built-in definition."""
    return _refer(_PREFIX + name)


def declare_custom(schema: Schema | None, kind: str) -> Declaration | None:
    """Returns the declaration of a custom resource, from the schema of its version, with complete metadata."""
    text = Schema(type="string")
    every = {"apiVersion": text, "kind": text, "metadata": Schema(ref=_OBJECT_META)}
    properties = schema.properties if schema is not None else {}
    return declare(Schema(type="object", properties={**properties, **every}), root=False, name=kind, refer=_refer)


def _refer(reference: str) -> Declaration | None:
    name = reference.removeprefix(_PREFIX)
    if name in _known:
        return _known[name]
    schema = builtin.schema(name)
    if schema.format == "quantity":
        # The type in which the server returns the value.
        found: Declaration | None = Declaration(STRING, 2)
    elif schema.type == "object" and not isinstance(schema.additional_properties, Schema):
        found = _declare_struct(name, schema)
    else:
        found = declare(schema, root=False, name=name, refer=_refer)
    _known[name] = found
    return found


def _declare_struct(name: str, schema: Schema) -> Declaration | None:
    """Returns the declaration of a struct, which is registered before its fields are declared."""
    empty = _known[name] = declare(Schema(type="object"), root=False, name=name)
    filled = declare(schema, root=False, name=name, refer=_refer)
    if empty is not None and filled is not None:
        empty.fields, empty.names, empty.properties = filled.fields, filled.names, filled.properties
    return empty
