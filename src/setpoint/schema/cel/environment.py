"""The environment of an expression: variables, object types and functions.

A rule of a custom resource has `self` and `oldSelf`; a policy declares its own variables the same way (`object`,
`oldObject`, `request`, `params`, `variables.x` under its full dotted name, and so on).
"""

from typing import NamedTuple

from setpoint.schema.cel.declarations import Declaration
from setpoint.schema.cel.functions import Functions
from setpoint.schema.cel.libraries import kubernetes_functions
from setpoint.schema.cel.messages import message_field, message_type
from setpoint.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    opaque,
    optional_of,
)

# The names that denote a type in an expression.
TYPE_NAMES: dict[str, Type] = {
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "null_type": NULL,
    "type": TYPE,
    "optional_type": optional_of(DYN),
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "net.IP": opaque("net.IP"),
    "net.CIDR": opaque("net.CIDR"),
}


class Variable(NamedTuple):
    """A variable: its type, and the declaration of its values, for the sizes that costs depend on."""

    type: Type
    declaration: Declaration | None = None


class Environment:
    """Variables by name and the fields of object types by the name of the type."""

    def __init__(
        self, variables: dict[str, Variable], functions: Functions | None = None, *, messages: bool = False
    ) -> None:
        self.variables = variables
        # True if expressions can construct the messages of patches.
        self.messages = messages
        self.functions = functions or kubernetes_functions(patches=messages)
        self.types: dict[str, Declaration] = {}
        for variable in variables.values():
            if variable.declaration is not None:
                self._register(variable.declaration)

    def denoted(self, name: str) -> Type | None:
        """Returns the type that a name denotes, or None."""
        found = TYPE_NAMES.get(name)
        return message_type(name) if found is None and self.messages else found

    def field_type(self, name: str, field: str) -> Type | None:
        """Returns the type of a field of an object type, or None for an unknown field. Raises LookupError for an
        unknown type."""
        if self.messages and message_type(name) is not None:
            return message_field(name, field)
        found = self.types[name].fields.get(field)
        return None if found is None else found.type

    def _register(self, declaration: Declaration) -> None:
        pending = [declaration]
        while pending:
            found = pending.pop()
            if found.elements is not None:
                pending.append(found.elements)
            elif found.type.kind == "struct" and found.type.name not in self.types:
                self.types[found.type.name] = found
                pending.extend(found.fields.values())
