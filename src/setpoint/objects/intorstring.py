"""Int-or-string values: a number, or a percentage of a total (`maxUnavailable: 25%`)."""

import math

from setpoint.objects.gotext import parse_int, quote


def parse(text: str) -> int | str:
    """A number where the text is a 32-bit one, else the text itself."""
    try:
        return parse_int(text, 32)
    except ValueError:
        return text


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """The number, or the percentage of the total. Raises ValueError, in the words of the API, for any other text."""
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
    try:
        percent = parse_int(value.removesuffix("%"), function="Atoi")
    except ValueError as error:
        raise ValueError(f"invalid value for IntOrString: invalid value {quote(value)}: {error}") from None
    share = percent * total / 100
    return math.ceil(share) if round_up else math.floor(share)
