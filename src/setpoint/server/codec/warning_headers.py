"""The Warning headers of an answer."""

from collections.abc import Iterable
from itertools import islice

_LONGEST = 4096
_CUT = 256
# As much of a text as is looked at: beyond this it is too long whatever it holds.
_READ = 8 * _LONGEST


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """One header for each text. Where they are too long together each is cut, and what still does not fit left out.
    Texts that do not fit are not looked at: there may be very many."""
    texts = list(islice(texts, _LONGEST))
    values, is_whole = _fitting(texts, _READ)
    if not is_whole:
        values, _ = _fitting(texts, _CUT)
    return [("Warning", value) for value in values]


def _fitting(texts: Iterable[str], cut: int) -> tuple[list[str], bool]:
    """The values of the texts that fit, each cut, and whether all do."""
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
