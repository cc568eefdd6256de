"""The values of plain YAML scalars, as Go's yaml gives them to Compose: words of YAML 1.2, numbers of YAML 1.1."""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
}
_INTEGERS = (
    (re.compile(r"[+-]?(?:0|[1-9][0-9]*)"), 10),
    (re.compile(r"[+-]?0[oO]?[0-7]+"), 8),
    (re.compile(r"[+-]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[+-]?0[bB][01]+"), 2),
)
_PREFIX = re.compile(r"^([+-]?)0[xXbBoO]")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = {
    **dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], float("inf")),
    **dict.fromkeys(["-.inf", "-.Inf", "-.INF"], float("-inf")),
    **dict.fromkeys([".nan", ".NaN", ".NAN"], float("nan")),
}
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d+)?[ \t]*(Z|([+-])(\d{1,2})(?::?(\d{2}))?)?)?"
)
# The longest text that is parsed as a number; Python refuses to convert much longer ones.
_MAX_NUMBER = 400
_MAX_UNSIGNED = 2**64


class Reference(str):
    """A text with references to variables that are not replaced; such a text is allowed instead of any value."""

    __slots__ = ()


class Timestamp(str):
    """A date or time in the form that Go prints, which Compose uses as the text of the value."""

    __slots__ = ("rfc3339",)

    rfc3339: str


def plain_value(text: str) -> Any:
    """Returns the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _MAX_NUMBER:
        return text
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    plain = text.replace("_", "") if text[0] != "." else text
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(plain):
            number = int(_PREFIX.sub(r"\1", plain), base)
            if -(2**63) <= number < _MAX_UNSIGNED:
                return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        return value if value - value == 0 else text
    return _timestamp(text) or text


def _timestamp(text: str) -> Timestamp | None:
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone, sign, hours, minutes = found.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=timezone(offset)
        )
    except ValueError:
        return None
    rest = (fraction or "").rstrip("0").rstrip(".")
    numbers = moment.strftime("%z")
    made = Timestamp(f"{moment:%Y-%m-%d %H:%M:%S}{rest} {numbers} {numbers if zone and zone != 'Z' else 'UTC'}")
    shown = "Z" if not offset else f"{numbers[:3]}:{numbers[3:]}"
    made.rfc3339 = f"{moment:%Y-%m-%dT%H:%M:%S}{rest}{shown}"
    return made
