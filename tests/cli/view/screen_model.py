"""A small terminal: what a person sees after some bytes were written to it, scrolled lines included.

It knows what the view uses and no more: anything else is a mistake, and raises.
"""

import re
import unicodedata

_BEGUN = re.compile(r"\x1b(\[[\d;]*)?")
_COMMAND = re.compile(r"\x1b\[([\d;]*)([A-Za-z])")


class Terminal:
    """Lines of cells; a cell is a character and its colour. The last `rows` of them are the screen."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._lines: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._colour = ""
        # A command of which the rest is yet to come.
        self._begun = ""

    @property
    def _top(self) -> int:
        return max(0, len(self._lines) - self.rows)

    def feed(self, text: str) -> None:
        """Takes what was written."""
        text, self._begun = self._begun + text, ""
        place = 0
        while place < len(text):
            if found := _COMMAND.match(text, place):
                self._command(found[1], found[2])
                place = found.end()
                continue
            if text[place] == "\x1b" and _BEGUN.fullmatch(text, place):
                self._begun = text[place:]
                return
            self._put(text[place])
            place += 1

    def _command(self, numbers: str, letter: str) -> None:
        if letter == "m":
            self._colour = "" if numbers in ("", "0") else numbers
        elif letter == "A":
            self._row = max(self._top, self._row - int(numbers or 1))
        elif letter == "B":
            self._row = min(len(self._lines) - 1, self._row + int(numbers or 1))
        elif letter == "K":
            del self._lines[self._row][self._column :]
        elif letter == "J":
            del self._lines[self._row][self._column :]
            del self._lines[self._row + 1 :]
        else:
            raise AssertionError(f"a command that no view needs: {numbers}{letter}")

    def _put(self, char: str) -> None:
        if char == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append([])
        elif char == "\r":
            self._column = 0
        else:
            assert char >= " ", f"a control character: {char!r}"
            width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
            if self._column + width > self.columns:
                self._column = 0
                self._put("\n")
            line = self._lines[self._row]
            line += [(" ", "")] * (self._column - len(line))
            line[self._column : self._column + width] = [(char, self._colour), ("", self._colour)][:width]
            self._column += width

    def resize(self, columns: int) -> None:
        """Another width: lines that are too long are broken, as most terminals do."""
        broken: list[list[tuple[str, str]]] = []
        for number, line in enumerate(self._lines):
            if number == self._row:
                row = len(broken)
            broken += [line[start : start + columns] for start in range(0, max(len(line), 1), columns)]
        self.columns, self._lines, self._row = columns, broken, row

    def text(self, *, colours: bool = False) -> str:
        """All lines, the first ever written first. A colour stands as `‹31›`, and its end as `‹›`."""
        return "\n".join(self._line(line, colours) for line in self._lines).rstrip("\n") + "\n"

    def _line(self, line: list[tuple[str, str]], colours: bool) -> str:
        if not colours:
            return "".join(char for char, _ in line).rstrip()
        found, now = "", ""
        for char, colour in line:
            if colour != now:
                found += f"{'‹›' if now else ''}{f'‹{colour}›' if colour else ''}"
                now = colour
            found += char
        return (found + ("‹›" if now else "")).rstrip()
