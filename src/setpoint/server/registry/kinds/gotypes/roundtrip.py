"""The normal form in which a built-in object is stored and served, independent of the form that the client sent.

kube-apiserver decodes a body into Go structs and encodes these again; the served object follows from the structs, not
from the body. `normalize` does the same to a tree, in place:

- a null is an absent field;
- fields that Go omits when empty (strings, numbers, lists, maps; not pointers) are dropped;
- fields that Go always writes are present: empty structs, zero values, null for absent lists and times;
- defaults that are part of the published definition are set;
- quantities, times and bytes have their canonical form;
- unknown fields are dropped, and their paths returned.

A value of the wrong type raises ValueError with the message of Go's decoder. Definitions are compiled on first use, to
a closure per struct.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from setpoint.objects.goformat import json_type
from setpoint.objects.gotext import INT64_MAX, INT64_MIN, float_text
from setpoint.objects.objectmeta import coerce, is_regular
from setpoint.objects.quantity import Quantity
from setpoint.objects.times import format_micro_time, format_time, parse_micro_time, parse_time
from setpoint.objects.tree import Json, Object
from setpoint.schema import builtin
from setpoint.server.registry.kinds.gotypes.go_fields import GoField, go_fields

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META = _META + "ObjectMeta"
_PREFIX = "#/definitions/"
_INT32 = (-(2**31), 2**31 - 1)
_UINT8 = (0, 255)
_INT64 = (INT64_MIN, INT64_MAX)
_RANGES = {"int32": _INT32, "int64": _INT64, "int": _INT64, "uint8": _UINT8}

# Returns the value in its normal form. Paths of unknown fields are added to the list, relative to the value.
Convert = Callable[[Json, list[str]], Json]


def normalize(tree: Object, definition: str) -> list[str]:
    """Normalizes a tree in place; returns the paths of unknown fields."""
    unknown: list[str] = []
    try:
        _struct(definition)(tree, unknown)
    except TypeFault as fault:
        raise ValueError(str(fault)) from None
    return unknown


class TypeFault(ValueError):  # noqa: N818 - the value is at fault
    """A value that does not fit its Go type. Its path is collected while the exception propagates.

    As Go's decoder, a reader goes on after a fault and reports the first one at the end. A type with a decoder of its
    own `aborts` the decoding; its fault is the one that is reported.
    """

    def __init__(self, found: str, wanted: str, *, aborts: bool = False, text: str = "") -> None:
        self.found = found
        self.wanted = wanted
        self.aborts = aborts
        self.struct = ""
        self.path = ""
        # The message of a fault that is not one of types.
        self._text = text

    def inside(self, struct: str, field: str) -> None:
        self.struct = self.struct or struct
        self.path = f"{field}.{self.path}" if self.path else field

    def __str__(self) -> str:
        place = f"Go struct field {self.struct}.{self.path}" if self.path else "Go value"
        return self._text or f"json: cannot unmarshal {self.found} into {place} of type {self.wanted}"


class _Field(NamedTuple):
    """The conversion of a field, and the handling of an empty value."""

    # A non-empty value of this type is already normal.
    plain: type | None
    convert: Convert
    drops_empty: bool
    has_default: bool


# --- structs ---


@cache
def _struct(definition: str) -> Convert:
    """Returns the conversion of a struct. Inner structs are compiled on first use, because they may be recursive."""
    schema = builtin.definition(definition)
    known = go_fields(definition)
    name = definition.rpartition(".")[2]
    fields: dict[str, _Field] = {}
    always: list[tuple[str, Callable[[], Json]]] = []
    for field, place in schema.get("properties", {}).items():
        go = known.get(field, GoField(""))
        value = _value(place, go.type)
        empty = value.empty
        is_struct = empty is not None
        default = place.get("default")
        if default is not None and default != {}:
            made = _constant(default)
            # Go omits the zero value of most fields, though it is published as the default of a few.
            if default or (not go.is_pointer and (go.is_always_written or not known)):
                always.append((field, made))
        elif go.is_always_written and (go.is_pointer or not is_struct):
            always.append((field, _constant(None if go.is_pointer else _blank(place))))
        elif empty is not None and not go.is_pointer and not go.omits_zero:
            always.append((field, empty))
        fields[field] = _Field(
            value.plain,
            value.convert,
            drops_empty=not (go.is_pointer or go.is_always_written or is_struct) or go.omits_zero,
            has_default=bool(default) and not go.is_pointer,
        )
    return _reader(name, f"v1.{name}" if not known else _go_name(definition), fields, always)


def _go_name(definition: str) -> str:
    package, _, name = definition.rpartition(".")
    return f"{package.rpartition('.')[2]}.{name}"


def _reader(
    name: str, go_type: str, fields: Mapping[str, _Field], always: list[tuple[str, Callable[[], Json]]]
) -> Convert:
    def read(tree: Json, unknown: list[str]) -> Json:
        if type(tree) is not dict:
            raise TypeFault(json_type(tree), go_type)
        first: TypeFault | None = None
        for key, value in list(tree.items()):
            field = fields.get(key)
            if field is None:
                del tree[key]
                unknown.append(key)
                continue
            if value is None:
                del tree[key]
                continue
            plain, convert, drops_empty, has_default = field
            if type(value) is plain and value:
                continue
            before = len(unknown)
            try:
                made = convert(value, unknown)
            except TypeFault as fault:
                fault.inside(name, key)
                if fault.aborts:
                    raise
                first = first or fault
                continue
            if len(unknown) != before:
                unknown[before:] = [_join(key, rest) for rest in unknown[before:]]
            if not made and (drops_empty or has_default):
                del tree[key]
            elif made is not value:
                tree[key] = made
        if first is not None:
            raise first
        for key, make in always:
            if key not in tree:
                tree[key] = make()
        return tree

    return read


def _join(head: str, rest: str) -> str:
    return head + rest if rest[:1] == "[" else f"{head}.{rest}"


def _constant(value: Json) -> Callable[[], Json]:
    """Returns a factory of a default that is shared; the published defaults are strings, numbers and booleans."""
    return lambda: value


def _blank(place: Object) -> Json:
    """Returns the zero value of a field that is not a struct; that of bytes is a null."""
    kind = place.get("type") if place.get("format") != "byte" else None
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(str(kind))


def is_container(place: Object) -> bool:
    """Returns True if a field is a list or a map."""
    return place.get("type") in ("array", "object") and "$ref" not in place


# --- values ---


class _Value(NamedTuple):
    convert: Convert
    # The JSON type whose non-empty values need no conversion.
    plain: type | None = None
    # For structs: returns an empty one.
    empty: Callable[[], Json] | None = None
    # For all others: the value of a null inside a list or map.
    blank: Json = 0

    def absent(self) -> Json:
        return self.blank if self.empty is None else self.empty()


def _value(place: Object, go_type: str) -> _Value:
    """Returns the conversion of a value, by its schema and its Go type."""
    reference = place.get("$ref")
    if reference is not None:
        return _referred(reference.removeprefix(_PREFIX), go_type)
    if place.get("x-kubernetes-preserve-unknown-fields"):
        return _Value(_anything, empty=lambda: None)
    kind = place.get("type")
    if kind == "string":
        is_bytes = place.get("format") == "byte"
        return SPECIAL["bytes"] if is_bytes else _Value(_text(go_type), str, blank="")
    if kind == "boolean":
        return _Value(_bool(go_type), bool, blank=False)
    if kind == "integer":
        return _Value(_integer(go_type, place.get("format") or "int64"))
    if kind == "number":
        return _Value(_number(go_type))
    if kind == "array":
        return _Value(_list(_value(place["items"], element_type(go_type)), go_type), blank=None)
    if "additionalProperties" in place:
        inner = _value(place["additionalProperties"], element_type(go_type))
        return _Value(_map(inner, go_type), blank=None)
    return _Value(_anything, empty=lambda: None)


def _referred(name: str, go_type: str) -> _Value:
    special = SPECIAL.get(name)
    if special is not None:
        return special
    schema = builtin.definition(name)
    if "properties" not in schema:
        return _value(schema, go_type)
    return _Value(
        lambda tree, unknown: _struct(name)(tree, unknown),
        empty=lambda: _struct(name)({}, []),
    )


def element_type(go_type: str) -> str:
    """Returns the element type of a list or map; unknown for named types."""
    if go_type.startswith("[]"):
        return go_type[2:].removeprefix("*")
    if go_type.startswith("map["):
        return go_type.partition("]")[2].removeprefix("*")
    return "string"


def _anything(value: Json, _unknown: list[str]) -> Json:
    return value


def _text(go_type: str) -> Convert:
    def read(value: Json, _unknown: list[str]) -> Json:
        if type(value) is not str:
            raise TypeFault(json_type(value), go_type or "string")
        return value

    return read


def _bool(go_type: str) -> Convert:
    def read(value: Json, _unknown: list[str]) -> Json:
        if type(value) is not bool:
            raise TypeFault(json_type(value), go_type or "bool")
        return value

    return read


def _integer(go_type: str, form: str) -> Convert:
    low, high = _RANGES.get(go_type) or _RANGES.get(form, _INT64)
    shown = go_type or form

    def read(value: Json, _unknown: list[str]) -> Json:
        if type(value) is int:
            if low <= value <= high:
                return value
            raise TypeFault(f"number {value}", shown)
        if type(value) is float:
            raise TypeFault(f"number {float_text(value)}", shown)
        raise TypeFault(json_type(value), shown)

    return read


def _number(go_type: str) -> Convert:
    def read(value: Json, _unknown: list[str]) -> Json:
        if type(value) not in (int, float):
            raise TypeFault(json_type(value), go_type or "float64")
        return value

    return read


def _list(inner: _Value, go_type: str) -> Convert:
    convert, plain = inner.convert, inner.plain

    def read(items: Json, unknown: list[str]) -> Json:
        if type(items) is not list:
            raise TypeFault(json_type(items), go_type)
        first: TypeFault | None = None
        for position, item in enumerate(items):
            if type(item) is plain:
                continue
            if item is None:
                items[position] = inner.absent()
                continue
            before = len(unknown)
            try:
                made = convert(item, unknown)
            except TypeFault as fault:
                if fault.aborts:
                    raise
                first = first or fault
                continue
            if len(unknown) != before:
                unknown[before:] = [_join(f"[{position}]", rest) for rest in unknown[before:]]
            if made is not item:
                items[position] = made
        if first is not None:
            raise first
        return items

    return read


def _map(inner: _Value, go_type: str) -> Convert:
    convert, plain = inner.convert, inner.plain
    all_plain = frozenset((plain,)).issuperset

    def read(entries: Json, unknown: list[str]) -> Json:
        if type(entries) is not dict:
            raise TypeFault(json_type(entries), go_type)
        if all_plain(map(type, entries.values())):
            return entries
        first: TypeFault | None = None
        for key, entry in entries.items():
            if type(entry) is plain:
                continue
            if entry is None:
                entries[key] = inner.absent()
                continue
            before = len(unknown)
            try:
                made = convert(entry, unknown)
            except TypeFault as fault:
                if fault.aborts:
                    raise
                first = first or fault
                continue
            if len(unknown) != before:
                unknown[before:] = [_join(key, rest) for rest in unknown[before:]]
            if made is not entry:
                entries[key] = made
        if first is not None:
            raise first
        return entries

    return read


# --- types with custom decoders ---


def _bytes(value: Json, unknown: list[str]) -> Json:
    if type(value) is list:
        read = _integer("uint8", "")
        return base64.b64encode(bytes([0 if item is None else read(item, unknown) for item in value])).decode()
    if type(value) is not str:
        raise TypeFault(json_type(value), "[]uint8")
    clean = value.replace("\r", "").replace("\n", "")
    try:
        data = base64.b64decode(clean, validate=True)
    except (binascii.Error, ValueError):
        raise TypeFault("", "", text=f"illegal base64 data at input byte {_bad_byte(value)}") from None
    return base64.b64encode(data).decode() if clean != value or clean[-1:] == "=" else value


_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _bad_byte(text: str) -> int:
    """Returns the offset at which Go's decoder reports an error: at the illegal character, or at the incomplete
    quantum."""
    count = 0
    for position, char in enumerate(text):
        if char in "\r\n":
            continue
        if char not in _ALPHABET:
            at_padding = char == "=" and count % 4 in (2, 3)
            if not at_padding:
                return position
            rest = text[position:].replace("\r", "").replace("\n", "")
            return len(text) if count % 4 == 2 and len(rest) < 2 else position + (4 - count % 4)
        count += 1
    return len(text) - len(text) % 4 if count % 4 else len(text)


def _quantity(value: Json, _unknown: list[str]) -> Json:
    text = value if type(value) is str else float_text(value) if type(value) is float else str(value)
    quantity = Quantity.parse(text)
    if not quantity.is_computable:
        raise ValueError(f"quantity {quantity} is too large to be computed with: it should be at most 1e1000")
    return str(quantity)


def _int_or_string(value: Json, _unknown: list[str]) -> Json:
    if type(value) is str or (type(value) is int and _INT32[0] <= value <= _INT32[1]):
        return value
    number = type(value) in (int, float)
    shown = f"number {float_text(value) if type(value) is float else value}" if number else json_type(value)
    raise TypeFault(shown, "int32", aborts=True)


def _time(parse: Callable[[str], Any], write: Callable[[Any], str]) -> Convert:
    def read(value: Json, _unknown: list[str]) -> Json:
        if type(value) is not str:
            raise TypeFault(json_type(value), "string", aborts=True)
        return write(parse(value))

    return read


def _object_meta(value: Json, unknown: list[str]) -> Json:
    """Metadata has its own, faster decoder; only invalid metadata is decoded as a struct, for the error messages."""
    if is_regular(value):
        return value
    try:
        found = coerce(value, within="metadata.")
    except ValueError:
        return _plain_object_meta()(value, unknown)
    unknown += [path.removeprefix("metadata.") for path in found.unknown]
    return found.metadata


@cache
def _plain_object_meta() -> Convert:
    return _struct(OBJECT_META)


SPECIAL: Mapping[str, _Value] = {
    OBJECT_META: _Value(_object_meta, empty=dict),
    _META + "Time": _Value(_time(parse_time, format_time), empty=lambda: None),
    _META + "MicroTime": _Value(_time(parse_micro_time, format_micro_time), empty=lambda: None),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _Value(_quantity, empty=lambda: "0"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _Value(_int_or_string, empty=lambda: 0),
    "bytes": _Value(_bytes, blank=""),
}
