"""The faults in the conversion of the result of a strategic merge patch to a Go struct, as on kube-apiserver.

The result is a map. Its values are converted one by one, in the order of the struct. The rules and the messages are
those of Go's reflection, not those of a JSON decoder: `cannot restore struct from: slice`, `unrecognized type: string`.
"""

from setpoint.objects.gotext import INT64_MAX
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin
from setpoint.server.codec.go_json import struct_fields
from setpoint.server.registry.kinds.gotypes.go_fields import GoField, go_fields
from setpoint.server.registry.kinds.gotypes.roundtrip import OBJECT_META, SPECIAL, element_type

_PREFIX = "#/definitions/"
_KINDS: dict[type, str] = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_HALF = 1 << 31
_TYPE_META = ("kind", "apiVersion")


def conversion_fault(tree: Json, definition: str) -> str:
    """Converts a tree to the struct of a definition; returns the message for the first value that cannot be converted,
    or an empty text. As in Go, an integer of more bits than its field loses the higher bits, in place."""
    try:
        _struct(tree, definition)
    except ValueError as error:
        return str(error)
    return ""


def _struct(tree: Json, definition: str) -> None:
    if type(tree) is not dict:
        raise ValueError(f"cannot restore struct from: {_KINDS[type(tree)]}")
    properties = builtin.definition(definition).get("properties", {})
    types = go_fields(definition)
    message = "k8s.io." + definition.removeprefix("io.k8s.").replace("-", "_")
    names = [*_TYPE_META, *struct_fields(message)]
    # Fields that the message does not have are those of structs without a message; their order is not known.
    for name in dict.fromkeys((*(name for name in names if name in properties), *properties)):
        value = tree.get(name)
        if value is not None:
            tree[name] = _value(value, properties[name], types.get(name, GoField("")).type)


def _value(value: Json, place: Object, go_type: str) -> Json:
    """Returns the converted value."""
    reference = place.get("$ref")
    if reference is not None:
        return _referred(value, reference.removeprefix(_PREFIX), go_type)
    if place.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if place.get("type") == "array":
        if type(value) is not list:
            raise ValueError(f"cannot restore slice from {_KINDS[type(value)]}")
        for index, item in enumerate(value):
            if item is not None:
                value[index] = _value(item, place["items"], element_type(go_type))
    elif "additionalProperties" in place:
        if type(value) is not dict:
            raise ValueError(f"cannot restore map from {_KINDS[type(value)]}")
        for name, item in value.items():
            if item is not None:
                value[name] = _value(item, place["additionalProperties"], element_type(go_type))
    elif place.get("type") == "object":
        # A struct without fields.
        if type(value) is not dict:
            raise ValueError(f"cannot restore struct from: {_KINDS[type(value)]}")
    elif place.get("format") == "byte":
        _bytes(value)
    elif "type" in place:
        form = go_type or place.get("format", "")
        _simple(value, place["type"], form)
        if place["type"] == "integer" and "int32" in (go_type, place.get("format")):
            return (int(value) + _HALF) % (2 * _HALF) - _HALF
    return value


def _referred(value: Json, name: str, go_type: str) -> Json:
    special = SPECIAL.get(name)
    if special is not None and name != OBJECT_META:
        special.convert(value, [])
        return value
    schema = builtin.definition(name)
    if "properties" in schema:
        _struct(value, name)
        return value
    return _value(value, schema, go_type)


def _bytes(value: Json) -> None:
    if type(value) is list:
        for item in value:
            _simple(item, "integer", "uint8")
    elif type(value) is not str:
        raise ValueError(f"cannot restore slice from {_KINDS[type(value)]}")
    elif value:
        try:
            SPECIAL["bytes"].convert(value, [])
        except ValueError as error:
            raise ValueError(f"error decoding from json: {error}") from None


def _simple(value: Json, kind: str, go_type: str) -> None:
    found = _KINDS[type(value)]
    if kind == "string":
        if found == "int64":  # Go can convert a number to a character, which JSON does not mean
            raise ValueError(f"cannot convert int64 to {go_type or 'string'}")
        fits, wanted = found == "string", "string"
    elif kind == "boolean":
        fits, wanted = found == "bool", "bool"
    elif kind == "number":
        fits, wanted = found in ("int64", "float64"), "float64"
    else:
        # Go gives a number out of range another value, which depends on the processor.
        if found == "float64" and (not value.is_integer() or abs(value) > INT64_MAX):
            raise ValueError(f"cannot convert float64 to {go_type}")
        fits, wanted = found in ("int64", "float64"), "int32" if "." in go_type else go_type
    if not fits:
        raise ValueError(f"unrecognized type: {wanted}")
