"""Writers of messages whose JSON is not an object of their fields: times, quantities, numbers or strings, raw JSON.

Each returns the bytes of the message for a JSON value as `json_types` reads it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec

from setpoint.objects import duration as durations
from setpoint.server.codec.protobuf.message_table import EXTENSIONS, META
from setpoint.server.codec.protobuf.wire import sized, unsigned

# Times, quantities and ports recur often.
_REMEMBERED = 2048
# The schema inside the messages that are a schema or another value.
SCHEMA = "JSONSchemaProps"
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")

Write: TypeAlias = Callable[[Any], bytes]


class SpecialWriter(NamedTuple):
    """A writer, the bytes of an absent value, and the message whose writer is passed as the second argument."""

    write: Callable[..., bytes]
    zero: bytes = b""
    inner: str = ""


_encode = msgspec.json.Encoder().encode


@lru_cache(_REMEMBERED)
def time(value: str) -> bytes:
    return _timestamp(value, micros=False)


@lru_cache(_REMEMBERED)
def micro_time(value: str) -> bytes:
    return _timestamp(value, micros=True)


def _timestamp(value: str, *, micros: bool) -> bytes:
    passed = datetime.fromisoformat(value) - _EPOCH
    seconds = passed.days * 86_400 + passed.seconds
    nanos = passed.microseconds * 1000 if micros else 0
    return b"\x08" + unsigned(seconds) + b"\x10" + unsigned(nanos)


def duration(value: str) -> bytes:
    return b"\x08" + unsigned(durations.parse(value))


@lru_cache(_REMEMBERED)
def quantity(value: str | float) -> bytes:
    return sized(1, str(value).encode())


@lru_cache(_REMEMBERED)
def int_or_string(value: str | int) -> bytes:
    if isinstance(value, int):
        return b"\x08\x00\x10" + unsigned(value) + b"\x1a\x00"
    return b"\x08\x01\x10\x00" + sized(3, value.encode())


def text(value: msgspec.Raw) -> bytes:
    """Writes embedded JSON that was not decoded."""
    return sized(1, bytes(value))


def raw_json(value: Any) -> bytes:
    return b"" if value is None else sized(1, _encode(value))


def schema_or_bool(value: Any, schema: Write) -> bytes:
    if isinstance(value, dict):
        return b"\x08\x01" + sized(2, schema(value))
    return b"\x08\x01" if value else b"\x08\x00"


def schema_or_array(value: Any, schema: Write) -> bytes:
    if isinstance(value, dict):
        return sized(1, schema(value))
    return b"".join([sized(2, schema(each)) for each in value])


def schema_or_string_array(value: Any, schema: Write) -> bytes:
    if isinstance(value, dict):
        return sized(1, schema(value))
    return b"".join([sized(2, each.encode()) for each in value])


SPECIAL_WRITERS: Mapping[str, SpecialWriter] = {
    f"{META}.Time": SpecialWriter(time),
    f"{META}.MicroTime": SpecialWriter(micro_time),
    f"{META}.Duration": SpecialWriter(duration, b"\x08\x00"),
    f"{META}.FieldsV1": SpecialWriter(text),
    "k8s.io.apimachinery.pkg.api.resource.Quantity": SpecialWriter(quantity, b"\x0a\x010"),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": SpecialWriter(int_or_string, b"\x08\x00\x10\x00\x1a\x00"),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": SpecialWriter(text),
    **{
        f"{EXTENSIONS}.{version}.{name}": special
        for version in ("v1", "v1beta1")
        for name, special in (
            ("JSON", SpecialWriter(raw_json)),
            ("JSONSchemaPropsOrBool", SpecialWriter(schema_or_bool, b"\x08\x00", f"{EXTENSIONS}.{version}.{SCHEMA}")),
            ("JSONSchemaPropsOrArray", SpecialWriter(schema_or_array, inner=f"{EXTENSIONS}.{version}.{SCHEMA}")),
            (
                "JSONSchemaPropsOrStringArray",
                SpecialWriter(schema_or_string_array, inner=f"{EXTENSIONS}.{version}.{SCHEMA}"),
            ),
        )
    },
}
