"""Formats output lines with time and name, and removes control sequences. Pure functions."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from setpoint.cli.app.view.log_lines import LogLine
from setpoint.cli.output.terminal import COLOUR, COMMAND, Terminal, harmless, width_of

_RESET = "\x1b[0m"
# The maximum width of the names.
_WIDEST = 24
_BARS = {False: "│", True: "┃"}


class Printed:
    """Formats the lines of an app: names have the same width, and each part has its own colour."""

    def __init__(self, place: Terminal, parts: Sequence[str], zone: tzinfo) -> None:
        self._place, self._zone = place, zone
        self._numbers = {name: number for number, name in enumerate(parts)}
        self._width = 0

    def widen(self, names: Iterable[str]) -> None:
        """Grows the width of the names to fit these."""
        self._width = min(max((self._width, *map(width_of, names))), _WIDEST)

    def line(self, line: LogLine) -> str:
        """Returns the formatted line."""
        number = self._numbers.setdefault(line.part, len(self._numbers))
        self.widen((line.name,))
        name = line.name + " " * (self._width - width_of(line.name))
        time = self._place.paint(line.time.astimezone(self._zone).strftime("%H:%M:%S"), "quiet")
        if line.skipped:
            text = f"… {line.skipped:,} lines skipped (printed too fast) · setpoint logs {line.part}"
            return f"{time} {self._place.prefix(f'{name} ┆', number)} {self._place.paint(text, 'pending')}"
        prefix = self._place.prefix(f"{name} {_BARS[line.is_error]}", number)
        return f"{time} {prefix} {cleaned(line.text, colours=self._place.colours)}".rstrip()


def cleaned(text: str, *, colours: bool) -> str:
    """Returns the text without control sequences that move the cursor, clear the screen or ring the bell. Colours are
    kept with `colours`. Of text overwritten with carriage returns, only the last version is kept.
    """
    text = text.rstrip("\r").rpartition("\r")[2].replace("\t", "        ")
    parts, place, has_colour = [], 0, False
    for found in COMMAND.finditer(text):
        parts.append(harmless(text[place : found.start()]))
        place = found.end()
        if colours and COLOUR.fullmatch(found[0]):
            parts.append(found[0])
            has_colour = True
    parts.append(harmless(text[place:]))
    return "".join(parts) + (_RESET if has_colour else "")
