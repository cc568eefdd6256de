"""The faults of an app, by the path of the field, and with line and column if the app was read from a file."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from setpoint.objects.typedyaml import Mistake, Mistakes, Path, path_text

Fault: TypeAlias = tuple[Path, str]
Where: TypeAlias = Callable[[Path], str]


def nowhere(path: Path) -> str:
    """Returns no location, for an app that was not read from a file."""
    return ""


def refuse(faults: Iterable[Fault], where: Where = nowhere) -> None:
    """Raises Mistakes if there are faults; duplicates are reported once."""
    found = [Mistake(where(path), path_text(path), message) for path, message in dict.fromkeys(faults)]
    if found:
        raise Mistakes(found)


def in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Returns the mistakes in the order of the file, without duplicates."""
    return sorted(dict.fromkeys(mistakes), key=_place)


def _place(mistake: Mistake) -> tuple[str, list[int]]:
    file, *numbers = mistake.where.split(":")
    return file, [int(number) for number in numbers if number.isdecimal()]
