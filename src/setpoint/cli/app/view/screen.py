"""The part of a terminal that is written over: some lines at the bottom, and above them what stays.

It only ever moves the cursor over its own lines, and writes those that changed. Pure: it says what to write.
"""

import re
from collections.abc import Sequence

from setpoint.cli.output.terminal import width_of

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_CLEAR_BELOW, _CLEAR_REST = "\x1b[J", "\x1b[K"


class Screen:
    """The lines that are painted, the cursor below them at the beginning of a line."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._painted: list[str] = []

    def frame(self, said: Sequence[str], lines: Sequence[str], *, anew: bool = False) -> str:
        """What to write so that `said` is printed for good and `lines` stand below. `anew`: none of what we know to be
        painted counts any more, as after a change of size."""
        if said or anew:
            text = (self._to(0) + _CLEAR_BELOW if self._painted else "") + _text(said) + _text(lines)
        else:
            text = self._changes(lines)
        self._painted = list(lines)
        return text

    def _changes(self, lines: Sequence[str]) -> str:
        """What differs, line by line; from where there are more or fewer lines, everything."""
        both = min(len(self._painted), len(lines))
        parts = []
        for number in range(both):
            if self._painted[number] != lines[number]:
                down = self._height(self._painted[number:])
                parts.append(f"\x1b[{down}A\r{lines[number]}{_CLEAR_REST}\x1b[{down}B\r")
        if len(self._painted) > both:
            parts.append(self._to(both) + _CLEAR_BELOW)
        return "".join(parts) + _text(lines[both:])

    def _to(self, number: int) -> str:
        """To the beginning of a line."""
        up = self._height(self._painted[number:])
        return f"\x1b[{up}A\r" if up else "\r"

    def _height(self, lines: Sequence[str]) -> int:
        """How many rows lines take. They were cut to the width that the terminal had; one that was made narrower has
        broken them."""
        return sum(max(1, -(-width_of(_COLOUR.sub("", line)) // self._columns)) for line in lines)

    def resize(self, columns: int) -> None:
        """The terminal is another size; what is painted has to be painted anew."""
        self._columns = max(columns, 1)

    def keep(self) -> None:
        """What is painted stays for good."""
        self._painted = []


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
