"""Lines of output as the view prints them: when, who, and what, with nothing in it that moves the cursor. Pure."""

from collections.abc import Iterable, Sequence
from datetime import tzinfo

from setpoint.cli.app.view.log_lines import Line
from setpoint.cli.output.terminal import COLOUR, COMMAND, Terminal, harmless, width_of

_RESET = "\x1b[0m"
# The names take no more columns than this.
_WIDEST = 24
_BARS = {False: "│", True: "┃"}


class Printed:
    """Prints lines of one app: the names are of one width, and every part has a colour of its own."""

    def __init__(self, place: Terminal, parts: Sequence[str], zone: tzinfo) -> None:
        self._place, self._zone = place, zone
        self._numbers = {name: number for number, name in enumerate(parts)}
        self._width = 0

    def make_room(self, names: Iterable[str]) -> None:
        """Has the names take one width."""
        self._width = min(max((self._width, *map(width_of, names))), _WIDEST)

    def line(self, line: Line) -> str:
        """A line, as it is printed."""
        number = self._numbers.setdefault(line.part, len(self._numbers))
        self.make_room((line.name,))
        name = line.name + " " * (self._width - width_of(line.name))
        time = self._place.paint(line.time.astimezone(self._zone).strftime("%H:%M:%S"), "quiet")
        if line.skipped:
            text = f"… {line.skipped:,} lines left out: they came too fast · setpoint logs {line.part}"
            return f"{time} {self._place.prefix(f'{name} ┆', number)} {self._place.paint(text, 'pending')}"
        prefix = self._place.prefix(f"{name} {_BARS[line.is_error]}", number)
        return f"{time} {prefix} {cleaned(line.text, colours=self._place.colours)}".rstrip()


def cleaned(text: str, *, colours: bool) -> str:
    """What a program printed, without what would move the cursor, clear the screen or ring; its colours stay where
    there are any. Of what was written over again and again the last is left."""
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
