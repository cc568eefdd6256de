"""The lines of a Procfile: a name and a command each."""

import re
from typing import NamedTuple

_LINE = re.compile(r"([A-Za-z0-9_-]+)\s*:\s*(.+)")
_PORT = re.compile(r"\$(PORT\b|\{PORT[}:])")


class ProcessLine(NamedTuple):
    """A process of a Procfile."""

    name: str
    command: str
    number: int


def lines(text: str) -> list[ProcessLine]:
    """Returns the processes of a Procfile; other lines are comments."""
    split = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    found = ((number, _LINE.fullmatch(line)) for number, line in split if not line.startswith("#"))
    return [ProcessLine(each[1], each[2].strip(), number) for number, each in found if each is not None]


def reads_port(line: ProcessLine) -> bool:
    """Returns True if a process listens on $PORT: the process web does so by convention."""
    return line.name == "web" or _PORT.search(line.command) is not None
