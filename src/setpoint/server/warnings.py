"""The Warning headers of an answer."""

from collections.abc import Iterable

_LONGEST = 4096
_CUT = 256


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """One header for each text. Where they are too long together each is cut, and what still does not fit left out."""
    values = [_value(text) for text in texts]
    if sum(map(len, values)) > _LONGEST:
        values = [_value(text[:_CUT]) for text in texts]
    found: list[tuple[str, str]] = []
    total = 0
    for value in values:
        total += len(value)
        if total > _LONGEST:
            break
        found.append(("Warning", value))
    return found


def _value(text: str) -> str:
    plain = "".join(" " if char in "\r\n" else char for char in text if char.isprintable() or char in "\r\n")
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
