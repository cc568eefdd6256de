"""What is wrong with an app, by the path of the field; where the app came from a file, with its line and column."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from setpoint.objects.typedyaml import Mistake, Mistakes, Path, path_text

Fault: TypeAlias = tuple[Path, str]
Where: TypeAlias = Callable[[Path], str]


def nowhere(path: Path) -> str:
    """Where the fields of an app are that came from no file."""
    return ""


def refuse(faults: Iterable[Fault], where: Where = nowhere) -> None:
    """Raises Mistakes if there are faults, each once."""
    found = [Mistake(where(path), path_text(path), message) for path, message in dict.fromkeys(faults)]
    if found:
        raise Mistakes(found)


def in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Mistakes as they stand in the file, each once."""
    return sorted(dict.fromkeys(mistakes), key=_place)


def _place(mistake: Mistake) -> tuple[str, list[int]]:
    file, *numbers = mistake.where.split(":")
    return file, [int(number) for number in numbers if number.isdecimal()]
