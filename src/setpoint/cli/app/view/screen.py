"""The redrawn area at the bottom of a terminal, below the permanent output.

Moves the cursor only within its own lines and writes only changed lines. Pure: returns the text to write.
"""

import re
from collections.abc import Sequence

from setpoint.cli.output.terminal import width_of

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_CLEAR_BELOW, _CLEAR_REST = "\x1b[J", "\x1b[K"


class Screen:
    """The painted lines. The cursor is below them, at the beginning of a line."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._painted: list[str] = []

    def frame(self, printed: Sequence[str], lines: Sequence[str], *, repaint: bool = False) -> str:
        """Returns the text that prints `printed` permanently and shows `lines` below. `repaint` repaints everything, as
        after a change of size.
        """
        if printed or repaint:
            text = (self._to(0) + _CLEAR_BELOW if self._painted else "") + _text(printed) + _text(lines)
        else:
            text = self._changes(lines)
        self._painted = list(lines)
        return text

    def _changes(self, lines: Sequence[str]) -> str:
        """Returns the text that updates the changed lines."""
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
        """Returns the sequence that moves the cursor to the beginning of a line."""
        up = self._height(self._painted[number:])
        return f"\x1b[{up}A\r" if up else "\r"

    def _height(self, lines: Sequence[str]) -> int:
        """Returns the number of rows that the lines take. A terminal that became narrower has wrapped them."""
        return sum(max(1, -(-width_of(_COLOUR.sub("", line)) // self._columns)) for line in lines)

    def resize(self, columns: int) -> None:
        """Sets the width of the terminal. The next frame must be painted with `repaint`."""
        self._columns = max(columns, 1)

    def keep(self) -> None:
        """Makes the painted lines permanent."""
        self._painted = []


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
