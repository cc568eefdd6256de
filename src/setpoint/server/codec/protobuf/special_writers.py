"""Writers of messages that are no objects of their fields in JSON: times, quantities, numbers or strings, raw JSON.

Each returns the message, as text of bytes, for a JSON value as `json_types` reads values.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from setpoint.objects import duration as durations
from setpoint.server.codec.protobuf.message_table import EXTENSIONS, META
from setpoint.server.codec.protobuf.wire_text import number, sized

# Times, quantities and ports recur often.
_REMEMBERED = 2048
# The schema inside the messages that are a schema or another value.
SCHEMA = "JSONSchemaProps"
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")

Write: TypeAlias = Callable[[Any], str]


class SpecialWriter(NamedTuple):
    """A writer, the message of an absent value, and the message inside, if its writer is the second argument."""

    write: Callable[..., str]
    zero: str = ""
    inner: str = ""


_encode = msgspec.json.Encoder().encode


@lru_cache(_REMEMBERED)
def time(value: str) -> str:
    return _timestamp(value, micros=False)


@lru_cache(_REMEMBERED)
def micro_time(value: str) -> str:
    return _timestamp(value, micros=True)


def _timestamp(value: str, *, micros: bool) -> str:
    passed = datetime.fromisoformat(value) - _EPOCH
    seconds = passed.days * 86_400 + passed.seconds
    nanos = passed.microseconds * 1000 if micros else 0
    return "\x08" + number(seconds) + "\x10" + number(nanos)


def duration(value: str) -> str:
    return "\x08" + number(durations.parse(value))


@lru_cache(_REMEMBERED)
def quantity(value: str | float) -> str:
    return sized(1, str(value))


@lru_cache(_REMEMBERED)
def int_or_string(value: str | int) -> str:
    if isinstance(value, int):
        return "\x08\x00\x10" + number(value) + "\x1a\x00"
    return "\x08\x01\x10\x00" + sized(3, value)


def text(value: msgspec.Raw) -> str:
    """Writes embedded JSON that was not decoded."""
    return sized(1, bytes(value).decode())


def raw_json(value: Any) -> str:
    return "" if value is None else sized(1, _encode(value).decode())


def schema_or_bool(value: Any, schema: Write) -> str:
    if isinstance(value, dict):
        return "\x08\x01" + sized(2, schema(value))
    return "\x08\x01" if value else "\x08\x00"


def schema_or_array(value: Any, schema: Write) -> str:
    if isinstance(value, dict):
        return sized(1, schema(value))
    return "".join([sized(2, schema(each)) for each in value])


def schema_or_string_array(value: Any, schema: Write) -> str:
    if isinstance(value, dict):
        return sized(1, schema(value))
    return "".join([sized(2, each) for each in value])


SPECIAL_WRITERS: Mapping[str, SpecialWriter] = {
    f"{META}.Time": SpecialWriter(time),
    f"{META}.MicroTime": SpecialWriter(micro_time),
    f"{META}.Duration": SpecialWriter(duration, "\x08\x00"),
    f"{META}.FieldsV1": SpecialWriter(text),
    "k8s.io.apimachinery.pkg.api.resource.Quantity": SpecialWriter(quantity, "\x0a\x010"),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": SpecialWriter(int_or_string, "\x08\x00\x10\x00\x1a\x00"),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": SpecialWriter(text),
    **{
        f"{EXTENSIONS}.{version}.{name}": special
        for version in ("v1", "v1beta1")
        for name, special in (
            ("JSON", SpecialWriter(raw_json)),
            ("JSONSchemaPropsOrBool", SpecialWriter(schema_or_bool, "\x08\x00", f"{EXTENSIONS}.{version}.{SCHEMA}")),
            ("JSONSchemaPropsOrArray", SpecialWriter(schema_or_array, inner=f"{EXTENSIONS}.{version}.{SCHEMA}")),
            (
                "JSONSchemaPropsOrStringArray",
                SpecialWriter(schema_or_string_array, inner=f"{EXTENSIONS}.{version}.{SCHEMA}"),
            ),
        )
    },
}
