"""Formats of strings and numbers: the recognized names, and the checks of their values.

A format is registered under its name without dashes (`date-time` is `datetime`). A format that is not recognized for
its type is ignored when objects are validated, and causes a warning when a schema is accepted.
"""

from collections.abc import Callable

from setpoint.schema.formats import codes, network, time_formats

Check = Callable[[str], object]

CHECKS: dict[str, Check] = {
    "bsonobjectid": codes.is_bson_object_id,
    "uri": network.is_request_uri,
    "email": network.is_email,
    "hostname": network.is_hostname,
    "ipv4": network.is_ipv4,
    "ipv6": network.is_ipv6,
    "cidr": network.is_cidr,
    "mac": network.is_mac,
    "uuid": codes.is_uuid,
    "uuid3": codes.is_uuid3,
    "uuid4": codes.is_uuid4,
    "uuid5": codes.is_uuid5,
    "isbn": codes.is_isbn,
    "isbn10": codes.is_isbn10,
    "isbn13": codes.is_isbn13,
    "creditcard": codes.is_credit_card,
    "ssn": codes.is_ssn,
    "hexcolor": codes.is_hex_color,
    "rgbcolor": codes.is_rgb_color,
    "byte": codes.is_base64,
    "password": lambda _: True,
    "date": time_formats.is_date,
    "duration": time_formats.is_duration,
    "datetime": time_formats.is_date_time,
    "k8sshortname": codes.is_short_name,
    "k8slongname": codes.is_long_name,
}
_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def string_check(name: str) -> Check | None:
    """Returns the check of a string format; None if the format is not recognized."""
    return CHECKS.get(name.replace("-", ""))


def is_recognized(schema_type: str, name: str) -> bool:
    """Returns True if a format is recognized for a type (empty for a schema that allows several)."""
    if schema_type in ("", "string"):
        return string_check(name) is not None
    return name in _NUMBERS.get(schema_type, ())
