"""Text for humans: counts, sizes, and suggestions."""

from collections.abc import Iterable, Mapping

_PLURALS = {"process": "processes", "directory": "directories"}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def counted(number: int, word: str) -> str:
    """`1 process`, `2 processes`."""
    return f"{number} {word if number == 1 else _PLURALS.get(word, f'{word}s')}"


def enumerated(counts: Mapping[str, int]) -> str:
    """`2 processes, 1 container and 1 network`, without zero counts; empty if all are zero."""
    words = [counted(number, word) for word, number in counts.items() if number]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def in_bytes(number: int) -> str:
    """`312 bytes`, `4.2 MB`."""
    size = float(number)
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.1f} {unit}" if size < 10 and unit != "bytes" else f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean api or app?`; empty if no known name is similar."""
    import difflib  # only needed after errors

    close = difflib.get_close_matches(name, set(known), n=2)
    return f"did you mean {' or '.join(close)}?" if close else ""
