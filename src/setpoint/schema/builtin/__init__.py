"""The built-in kinds of Kubernetes 1.37 as data: the list of kinds, and the OpenAPI definition of each.

A definition is plain OpenAPI, as the API server publishes it, without its descriptions, which `descriptions` returns:
references are `$ref: #/definitions/NAME` (they may form cycles), and a field may have its own `default` or
`x-kubernetes-*` beside a reference. Types with custom JSON encoding are represented as follows:

- an int-or-string is `{x-kubernetes-int-or-string: true, format: int-or-string}`;
- a quantity is `{format: quantity, oneOf: [{type: string}, {type: number}]}`: requests may contain either, responses
  contain a string;
- times are strings of format `date-time`, bytes are strings of format `byte`;
- arbitrary values (RawExtension, FieldsV1, the JSON inside a CRD) have `x-kubernetes-preserve-unknown-fields`.

No field is `nullable`: for built-in kinds a null is equivalent to an absent field. Each `default` is the published one.
That includes the zero values (`""`, `0`, `false`, `{}`) of fields that Go's types always have; the defaults that depend
on other fields are not part of the schema.

No file is read before the first call, and each definition is decoded on first use. The results of these functions are
shared and must not be changed.
"""

from setpoint.schema.builtin.definitions import (
    RELEASE,
    Enum,
    definition,
    descriptions,
    enums,
    kinds,
    names,
    resolve,
    resolve_schema,
    schema,
)

__all__ = [
    "RELEASE",
    "Enum",
    "definition",
    "descriptions",
    "enums",
    "kinds",
    "names",
    "resolve",
    "resolve_schema",
    "schema",
]
