"""Named formats: `format.dns1123Label().validate(name)` returns the errors, or an empty optional if there are none."""

from collections.abc import Callable, Sequence

from setpoint.objects import names
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.libraries.urls import parse_url
from setpoint.schema.cel.types import Type, struct
from setpoint.schema.cel.values import NONE, Optional
from setpoint.schema.formats import string_check

FORMATS = Library()


class Format:
    """A format by name; `pattern_size` is the assumed length of its pattern for the cost of a check."""

    __slots__ = ("check", "name", "pattern_size")
    cel_type: Type = struct("kubernetes.NamedFormat")

    def __init__(self, name: str, check: Callable[[str], Sequence[str]], pattern_size: int) -> None:
        self.name = name
        self.check = check
        self.pattern_size = pattern_size


def _format_of(name: str, complaint: str) -> Callable[[str], Sequence[str]]:
    check = string_check(name)
    return lambda text: () if check is None or check(text) else (complaint,)


def _uri(text: str) -> Sequence[str]:
    try:
        parse_url(text)
    except ValueError as error:
        return (str(error),)
    return ()


_FORMATS = {
    found.name: found
    for found in (
        Format("dns1123Label", names.dns1123_label, 30),
        Format("dns1123Subdomain", names.dns1123_subdomain, 60),
        Format("dns1035Label", names.dns1035_label, 30),
        Format("qualifiedName", names.qualified_name, 60),
        Format("dns1123LabelPrefix", lambda text: names.dns1123_label(text, True), 30),
        Format("dns1123SubdomainPrefix", lambda text: names.dns1123_subdomain(text, True), 60),
        Format("dns1035LabelPrefix", lambda text: names.dns1035_label(text, True), 30),
        Format("labelValue", names.label_value, 40),
        Format("uri", _uri, 1103),
        Format("uuid", _format_of("uuid", "does not match the UUID format"), 69),
        Format("byte", _format_of("byte", "invalid base64"), 84),
        Format("date", _format_of("date", "invalid date"), 70),
        Format("datetime", _format_of("datetime", "invalid datetime"), 70),
    )
}


@FORMATS.overload("format-named: format.named(string) -> optional(kubernetes.NamedFormat)")
def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


@FORMATS.overload("format-validate: (kubernetes.NamedFormat).validate(string) -> optional(list(string))")
def _validate(found: Format, text: str) -> Optional:
    complaints = found.check(text)
    return Optional(list(complaints)) if complaints else NONE


def _declare(name: str) -> None:
    FORMATS.overload(f"format.{name}: format.{name}() -> kubernetes.NamedFormat")(lambda: _FORMATS[name])


for _name in _FORMATS:
    _declare(_name)
