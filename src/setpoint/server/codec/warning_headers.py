"""The Warning headers of a response."""

from collections.abc import Iterable
from itertools import islice

_LONGEST = 4096
_CUT = 256
# The number of characters of a text that are read: beyond this, every text is too long.
_READ = 8 * _LONGEST


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Returns one header per text. If the total is too long, each text is shortened, and those that still do not fit
    are omitted. Texts that do not fit are not processed, as there may be very many."""
    texts = list(islice(texts, _LONGEST))
    values, is_whole = _fitting(texts, _READ)
    if not is_whole:
        values, _ = _fitting(texts, _CUT)
    return [("Warning", value) for value in values]


def _fitting(texts: Iterable[str], cut: int) -> tuple[list[str], bool]:
    """Returns the values of the texts that fit, each shortened, and True if all fit."""
    found: list[str] = []
    total = 0
    for text in texts:
        value = _value(text[:cut])
        total += len(value)
        if total > _LONGEST:
            return found, False
        found.append(value)
    return found, True


def _value(text: str) -> str:
    plain = "".join(" " if char in "\r\n" else char for char in text if char.isprintable() or char in "\r\n")
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
