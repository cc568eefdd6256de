"""Go's `fmt.Sprintf` on decoded JSON, with Go's marks for wrong verbs and missing or additional values."""

import re
from collections.abc import Sequence

from setpoint.objects.goformat import format_v
from setpoint.objects.gotext import quote, quote_ascii
from setpoint.objects.tree import Json

_VERB = re.compile(r"%([-+ 0#]*)(?:\[(\d{1,3})\])?(\d{1,6})?(\.(\d{0,6}))?(?:\[(\d{1,3})\])?")
_TYPES = {str: "string", bool: "bool", int: "int", float: "float64"}
# The greatest width and precision; Go allows a million.
_WIDEST = 1_000


def sprintf(format_: str, values: Sequence[Json]) -> str:
    """Returns the formatted text. Raises ValueError for a width that is too large."""
    return _Formatting(format_, values).everything()


class _Formatting:
    def __init__(self, format_: str, values: Sequence[Json]) -> None:
        self._format, self._values = format_, values
        self._next = 0
        self._reordered = False

    def everything(self) -> str:
        found, at, text = [], 0, self._format
        while (start := text.find("%", at)) >= 0:
            found.append(text[at:start])
            written, at = self._one(start)
            found.append(written)
        found.append(text[at:])
        if not self._reordered and self._next < len(self._values):
            extra = ", ".join(_typed(each) for each in self._values[self._next :])
            found.append(f"%!(EXTRA {extra})")
        return "".join(found)

    def _one(self, start: int) -> tuple[str, int]:
        """Returns the text of the verb at `start`, and its end."""
        match = _VERB.match(self._format, start)
        assert match is not None
        flags, first, width, dot, precision, second = match.groups()
        if match.end() >= len(self._format):
            return "%!(NOVERB)", len(self._format)
        letter = self._format[match.end()]
        end = match.end() + 1
        if letter == "%":
            return "%", end
        if number := first or second:
            self._reordered = True
            self._next = int(number) - 1
            if not 0 <= self._next < len(self._values):
                return f"%!{letter}(BADINDEX)", end
        if self._next >= len(self._values):
            return f"%!{letter}(MISSING)", end
        if int(width or 0) > _WIDEST or int(precision or 0) > _WIDEST:
            raise ValueError(f"printf supports widths up to {_WIDEST}")
        value = self._values[self._next]
        self._next += 1
        exact = None if dot is None else int(precision or 0)
        return _formatted(letter, flags, int(width or 0), exact, value), end


def _typed(value: Json) -> str:
    return "<nil>" if value is None else f"{_type(value)}={format_v(value)}"


def _type(value: Json) -> str:
    if isinstance(value, list):
        return "[]interface {}"
    return "map[string]interface {}" if isinstance(value, dict) else _TYPES[type(value)]


def _bad(letter: str, value: Json) -> str:
    return f"%!{letter}({_typed(value)})"


def _formatted(letter: str, flags: str, width: int, precision: int | None, value: Json) -> str:
    text, is_number = _text(letter, flags, precision, value)
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags and (is_number or isinstance(value, str)) and len(text) < width:
        sign = text[0] if is_number and text[:1] in ("+", "-", " ") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)


def _text(letter: str, flags: str, precision: int | None, value: Json) -> tuple[str, bool]:
    """Returns the text of a value, and True if the text is a number."""
    if letter == "T":
        return "<nil>" if value is None else _type(value), False
    if value is None:
        return ("<nil>" if letter == "v" else f"%!{letter}(<nil>)"), False
    if isinstance(value, list):
        opened, closed, parts = "[", "]", [_text(letter, flags, precision, each)[0] for each in value]
        return opened + " ".join(parts) + closed, False
    if isinstance(value, dict):
        entries = [(key, value[key]) for key in sorted(value)]
        pairs = [":".join(_text(letter, flags, precision, each)[0] for each in pair) for pair in entries]
        return f"map[{' '.join(pairs)}]", False
    if isinstance(value, bool):
        return (format_v(value), False) if letter in "vt" else (_bad(letter, value), False)
    if isinstance(value, str):
        return _string(letter, flags, precision, value), False
    if isinstance(value, int):
        return _integer(letter, flags, precision, value)
    return _float(letter, flags, precision, value)


def _string(letter: str, flags: str, precision: int | None, value: str) -> str:
    if letter in "vs" and "#" not in flags:
        return value if precision is None else value[:precision]
    if letter == "q" or (letter == "v" and "#" in flags):
        cut = value if precision is None else value[:precision]
        if "#" in flags and letter == "q" and "`" not in cut and cut.isprintable():
            return f"`{cut}`"
        return quote_ascii(cut) if "+" in flags else quote(cut)
    if letter in "xX":
        data = value.encode()[:precision]
        digits = data.hex(" " if " " in flags else "") if " " in flags else data.hex()
        prefix = "0x" if "#" in flags and data else ""
        return (prefix + digits).upper() if letter == "X" else prefix + digits
    return _bad(letter, value)


_BASES = {"d": "d", "v": "d", "x": "x", "X": "X", "o": "o", "b": "b", "O": "o"}


def _integer(letter: str, flags: str, precision: int | None, value: int) -> tuple[str, bool]:
    if letter == "c":
        return chr(value) if 0 <= value < 0x110000 else "\ufffd", False
    if letter == "q":
        char = chr(value) if 0 <= value < 0x110000 else "\ufffd"
        return "'" + quote(char)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'", False
    if letter == "U":
        return f"U+{value:04X}", False
    if letter not in _BASES:
        return _bad(letter, value), False
    digits = format(abs(value), _BASES[letter])
    if precision is not None:
        digits = "" if precision == 0 and value == 0 else digits.rjust(precision, "0")
    prefix = {"x": "0x", "X": "0X", "o": "0", "b": "0b"}.get(letter, "") if "#" in flags else ""
    prefix = "0o" if letter == "O" else prefix
    sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    return sign + prefix + digits, True


def _float(letter: str, flags: str, precision: int | None, value: float) -> tuple[str, bool]:
    if letter not in "vgGeEfF":
        return _bad(letter, value), False
    sign = "+" if "+" in flags else " " if " " in flags else ""
    if letter in "vg" and precision is None:
        text = format_v(value)
        return (sign + text if not text.startswith("-") else text), True
    letter = "g" if letter == "v" else letter
    digits = 6 if precision is None else precision
    alternate = "#" if "#" in flags else ""
    text = f"%{sign}{alternate}.{digits}{letter}" % value
    return text, True
