"""Functions on strings: the standard ones and the extension library."""

from typing import Any

from setpoint.objects.gotext import ESCAPES, quote
from setpoint.schema.cel.functions import Library
from setpoint.schema.cel.libraries.string_format import format_string
from setpoint.schema.cel.values import MAX_TEXT, CostExceeded, EvaluationError
from setpoint.schema.regex import matcher, pattern_error

STRINGS = Library()
_overload = STRINGS.overload
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
# The whitespace of Go's unicode.IsSpace; Python's strip() also removes the separators 1c to 1f.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_QUOTED = str.maketrans(ESCAPES)


@_overload("contains_string: (string).contains(string) -> bool")
def contains(text: str, part: str) -> bool:
    return part in text


@_overload("starts_with_string: (string).startsWith(string) -> bool")
def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


@_overload("ends_with_string: (string).endsWith(string) -> bool")
def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


@_overload("matches: matches(string, string) -> bool", "matches_string: (string).matches(string) -> bool")
def matches(text: str, pattern: str) -> bool:
    wrong = pattern_error(pattern)
    if wrong:
        raise EvaluationError(wrong)
    return bool(matcher(pattern)(encodable(text)))


def encodable(text: str) -> str:
    """Returns the text with lone surrogates, which only JSON escapes can produce, replaced for pattern matching."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _out_of_range(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


@_overload("string_char_at_int: (string).charAt(int) -> string")
def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


@_overload(
    "string_index_of_string: (string).indexOf(string) -> int",
    "string_index_of_string_int: (string).indexOf(string, int) -> int",
)
def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return start
    return text.find(part, start) if start < len(text) else -1


@_overload(
    "string_last_index_of_string: (string).lastIndexOf(string) -> int",
    "string_last_index_of_string_int: (string).lastIndexOf(string, int) -> int",
)
def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return start
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


@_overload("string_lower_ascii: (string).lowerAscii() -> string")
def _lower_ascii(text: str) -> str:
    return text.translate(_LOWER)


@_overload("string_upper_ascii: (string).upperAscii() -> string")
def _upper_ascii(text: str) -> str:
    return text.translate(_UPPER)


@_overload(
    "string_replace_string_string: (string).replace(string, string) -> string",
    "string_replace_string_string_int: (string).replace(string, string, int) -> string",
)
def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        times = text.count(old) if count < 0 else min(count, text.count(old))
        if len(text) + times * (len(new) - len(old)) > MAX_TEXT:
            raise CostExceeded
    return text.replace(old, new, max(count, -1))


@_overload(
    "string_split_string: (string).split(string) -> list(string)",
    "string_split_string_int: (string).split(string, int) -> list(string)",
)
def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if count == 1:
        return [text]
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


@_overload(
    "string_substring_int: (string).substring(int) -> string",
    "string_substring_int_int: (string).substring(int, int) -> string",
)
def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end > len(text):
        raise _out_of_range(end)
    return text[start:end]


@_overload("string_trim: (string).trim() -> string")
def _trim(text: str) -> str:
    return text.strip(_SPACE)


@_overload("list_join: (list(string)).join() -> string", "list_join_string: (list(string)).join(string) -> string")
def _join(items: list[Any], separator: str = "") -> str:
    try:
        if sum(map(len, items)) + len(separator) * len(items) > MAX_TEXT:
            raise CostExceeded
        return separator.join(items)
    except TypeError:
        raise EvaluationError("no such overload") from None


@_overload("strings_quote: strings.quote(string) -> string")
def _quote(text: str) -> str:
    """Quotes the text in double quotes with only the usual escapes; `gotext.quote` also escapes unprintable ones."""
    plain = quote(text)
    return plain if len(plain) == len(text) + 2 else f'"{text.translate(_QUOTED)}"'


STRINGS.overload("string_format: (string).format(list(dyn)) -> string")(format_string)
