"""Messages whose JSON is not an object of their fields: times, quantities, numbers or strings, raw JSON.

Each entry of `SPECIAL` converts the fields of such a message (bytes undecoded) to its JSON value, and gives the value
of an empty message.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from setpoint.objects import codec
from setpoint.objects.duration import format_duration
from setpoint.objects.errors import BadRequest
from setpoint.objects.quantity import Quantity
from setpoint.objects.tree import Json, Object
from setpoint.server.codec.protobuf.message_table import EXTENSIONS, META
from setpoint.server.codec.protobuf.wire import MalformedError

_EPOCH = datetime(1970, 1, 1)
# The first second of the year 1, which is Go's zero time.
_ZERO_SECONDS = -62_135_596_800


class Special(NamedTuple):
    """The conversion of a message to JSON, its zero value, and True for `is_scalar` if the value is never an object or
    list."""

    convert: Callable[[Object], Json]
    zero: Json = None
    is_scalar: bool = False


def time(fields: Object) -> str | None:
    seconds = fields.get("seconds", 0)
    return None if seconds == _ZERO_SECONDS else _moment(seconds, 0).isoformat() + "Z"


def micro_time(fields: Object) -> str | None:
    seconds, nanos = fields.get("seconds", 0), fields.get("nanos", 0)
    # Go truncates towards zero.
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)
    if not micros and seconds == _ZERO_SECONDS:
        return None
    moment = _moment(seconds, micros)
    return moment.isoformat() + ("Z" if moment.microsecond else ".000000Z")


def _moment(seconds: int, micros: int) -> datetime:
    try:
        return _EPOCH + timedelta(0, seconds, micros)
    except OverflowError:
        raise MalformedError("Time: year outside of range [1,9999]") from None


def duration(fields: Object) -> str:
    return format_duration(fields.get("duration", 0))


def quantity(fields: Object) -> str:
    try:
        return str(Quantity.parse(fields["string"])) if "string" in fields else "0"
    except ValueError as error:
        raise MalformedError(str(error)) from None


def int_or_string(fields: Object) -> int | str:
    chosen = fields["type"]
    if chosen not in (0, 1):
        raise MalformedError("impossible IntOrString.Type")
    value: int | str = fields["strVal"] if chosen else fields["intVal"]
    return value


def raw_extension(fields: Object) -> Json:
    raw = fields["raw"]
    return None if raw is None else _json(raw)


def raw_json(fields: Object) -> Json:
    return _json(fields["raw"]) if fields["raw"] else None


def fields_v1(fields: Object) -> Json:
    return _json(fields["Raw"]) if fields.get("Raw") else None


def _json(raw: bytes) -> Json:
    try:
        return codec.decode(raw)
    except BadRequest as error:
        raise MalformedError(error.message) from None


def schema_or_bool(fields: Object) -> Json:
    return fields["allows"] if fields["schema"] is None else fields["schema"]


def schema_or_array(fields: Object) -> Json:
    return fields["jSONSchemas"] or fields["schema"]


def schema_or_string_array(fields: Object) -> Json:
    return fields["property"] or fields["schema"]


SPECIAL: Mapping[str, Special] = {
    f"{META}.Time": Special(time, is_scalar=True),
    f"{META}.MicroTime": Special(micro_time, is_scalar=True),
    f"{META}.Duration": Special(duration, "0s", is_scalar=True),
    f"{META}.FieldsV1": Special(fields_v1),
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Special(quantity, "0", is_scalar=True),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Special(int_or_string, 0, is_scalar=True),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": Special(raw_extension),
    **{
        f"{EXTENSIONS}.{version}.{name}": special
        for version in ("v1", "v1beta1")
        for name, special in (
            ("JSON", Special(raw_json)),
            ("JSONSchemaPropsOrBool", Special(schema_or_bool, False)),
            ("JSONSchemaPropsOrArray", Special(schema_or_array)),
            ("JSONSchemaPropsOrStringArray", Special(schema_or_string_array)),
        )
    },
}
