"""The terminal: its width, its support of colours, and the meanings of the colours.

Colours only repeat the meaning of the text. `NO_COLOR` turns colours off, `FORCE_COLOR` turns them on; by default they
are used if the output is a terminal.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import click

from setpoint.workload.state_meanings import Meaning as Meaning
from setpoint.workload.state_meanings import meaning_of as meaning_of

_CODES: dict[Meaning, str] = {"good": "32", "pending": "33", "bad": "31", "quiet": "2", "heading": "1"}
# The colours of line prefixes, which have no meaning.
_PREFIXES = ("36", "35", "34", "32;2", "33;2", "36;2", "35;2", "34;2")
_RESET = "\x1b[0m"
_USUAL_COLUMNS = 80
# Characters of objects that could manipulate the terminal: control characters, bidirectional formatting, invisible
# characters, line separators, tags, and surrogates. The joiners U+200C and U+200D are kept, because scripts and emoji
# need them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Terminal control sequences: all of them, and those for colours.
COMMAND = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")
COLOUR = re.compile(r"\x1b\[[\d;:]*m")


class Terminal(NamedTuple):
    """The output device. `width` is None if lines are not limited; `moves` is True if written lines can be
    overwritten.
    """

    width: int | None = None
    colours: bool = False
    moves: bool = False

    def paint(self, text: str, meaning: Meaning) -> str:
        """Returns the text in the colour of its meaning."""
        return f"\x1b[{_CODES[meaning]}m{text}{_RESET}" if self.colours and meaning and text else text

    def prefix(self, text: str, number: int) -> str:
        """Returns the prefix of a line in the colour of this number."""
        return f"\x1b[{_PREFIXES[number % len(_PREFIXES)]}m{text}{_RESET}" if self.colours else text

    def echo(self, text: str = "", *, err: bool = False) -> None:
        echo(text, err=err, colours=self.colours)


def terminal(stream: IO[Any] | None = None, environ: Mapping[str, str] = os.environ) -> Terminal:
    """Returns the properties of stdout, or of another stream."""
    stream = sys.stdout if stream is None else stream
    is_terminal = stream.isatty()
    colours = is_terminal and environ.get("TERM") != "dumb"
    if environ.get("FORCE_COLOR"):
        colours = True
    if environ.get("NO_COLOR"):
        colours = False
    moves = is_terminal and environ.get("TERM") != "dumb"
    return Terminal(_width_of(stream, environ) if is_terminal else None, colours, moves)


def _width_of(stream: IO[Any], environ: Mapping[str, str]) -> int:
    """Returns the width of a terminal: from COLUMNS, from the terminal, or 80."""
    columns = environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def echo(text: object = "", *, err: bool = False, nl: bool = True, colours: bool | None = None) -> None:
    """Prints untrusted text. On a terminal, all control sequences except colours are made visible; files and pipes get
    the text unchanged.
    """
    shown = str(text)
    if (sys.stderr if err else sys.stdout).isatty():
        shown = shown_on_terminal(shown)
    click.echo(shown, err=err, nl=nl, color=colours)


def shown_on_terminal(text: str) -> str:
    """Returns the text without control sequences other than colours."""
    if text.isascii() and text.isprintable():
        return text
    parts, place, has_colour = [], 0, False
    for found in COMMAND.finditer(text):
        parts.append(harmless(text[place : found.start()]))
        place = found.end()
        if COLOUR.fullmatch(found[0]):
            parts.append(found[0])
            has_colour = found[0] not in (_RESET, "\x1b[m")
    parts.append(harmless(text[place:]))
    return "".join(parts) + (_RESET if has_colour else "")


def harmless(text: str) -> str:
    """Returns the text with control and invisible characters made visible."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x80:
        return f"^{chr(code ^ 0x40)}"
    return "?" if code < 0xA0 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width_of(text: str) -> int:
    """Returns the number of columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """Returns the text, cut to the width with an ellipsis."""
    if width_of(text) <= width:
        return text
    kept, taken = [], 0
    for char in text:
        taken += _columns(char)
        if taken > width - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"
