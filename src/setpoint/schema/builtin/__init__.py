"""The built-in kinds of Kubernetes 1.37 as data: which there are, and the OpenAPI definition of each.

A definition is plain OpenAPI, as the API server publishes it, without its descriptions, which `descriptions` has:
references are `$ref: #/definitions/NAME` (they may form cycles), beside which a field may say its own `default` or
`x-kubernetes-*`. Types that write their JSON themselves look like this:

- an int-or-string is `{x-kubernetes-int-or-string: true, format: int-or-string}`;
- a quantity is `{format: quantity, oneOf: [{type: string}, {type: number}]}`: on the wire it may be either, but it is
  served as a string;
- times are strings of format `date-time`, bytes are strings of format `byte`;
- what may be anything (RawExtension, FieldsV1, the JSON inside a CRD) has `x-kubernetes-preserve-unknown-fields`.

No field is `nullable`: for built-in kinds a null says the same as an absent field. Each `default` is the published one.
That includes the zero values (`""`, `0`, `false`, `{}`) of fields that Go's types always have; the defaults that depend
on other fields are not part of the schema.

Nothing is read before the first call, and each definition is decoded when it is first asked for. What these functions
return is shared: do not change it.
"""

from setpoint.schema.builtin.definitions import (
    RELEASE,
    definition,
    descriptions,
    kinds,
    names,
    resolve,
    resolve_schema,
    schema,
)

__all__ = ["RELEASE", "definition", "descriptions", "kinds", "names", "resolve", "resolve_schema", "schema"]
