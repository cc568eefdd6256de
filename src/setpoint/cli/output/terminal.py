"""The terminal: how wide it is, whether it has colours, and what each colour means.

A colour never stands alone: it repeats what the text says. `NO_COLOR` turns colours off, `FORCE_COLOR` on; otherwise
they are there where the output is a terminal.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import click

Meaning: TypeAlias = Literal["good", "pending", "bad", "quiet", "heading", ""]

_CODES: dict[Meaning, str] = {"good": "32", "pending": "33", "bad": "31", "quiet": "2", "heading": "1"}
# Prefixes of lines that come from several objects, none of which is good or bad for it.
_PREFIXES = ("36", "35", "34", "32;2", "33;2", "36;2", "35;2", "34;2")
_RESET = "\x1b[0m"
_USUAL_COLUMNS = 80
# What would move the cursor, or worse, when it came from an object: control characters; characters that have a terminal
# show text in another order (bidirectional formatting), that cannot be seen, or that break a line; tags, and halves of
# surrogate pairs. The joiners U+200C and U+200D stay: scripts and emoji need them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Commands to a terminal: all of them, and among them those for colours.
COMMAND = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")
COLOUR = re.compile(r"\x1b\[[\d;:]*m")
_WORDS: dict[Meaning, frozenset[str]] = {
    "good": frozenset(
        (
            "running",
            "ready",
            "healthy",
            "active",
            "available",
            "bound",
            "succeeded",
            "completed",
            "complete",
            "established",
            "true",
            "ok",
            "done",
        )
    ),
    "pending": frozenset(
        (
            "pending",
            "starting",
            "stopping",
            "waiting",
            "progressing",
            "terminating",
            "creating",
            "building",
            "pulling",
            "paused",
            "caution",
            "notready",
            "unknown",
            "removing",
            "restarting",
        )
    ),
    "bad": frozenset(
        (
            "failed",
            "failedtostart",
            "error",
            "unhealthy",
            "backoff",
            "crashloopbackoff",
            "lost",
            "evicted",
            "notfound",
            "false",
            "imagepullbackoff",
            "errimagepull",
            "oomkilled",
            "stuck",
            "unreachable",
            "dead",
        )
    ),
    "quiet": frozenset(
        (
            "finished",
            "terminated",
            "exited",
            "stopped",
            "none",
            "removed",
        )
    ),
}
_MEANINGS = {word: meaning for meaning, words in _WORDS.items() for word in words}


class Terminal(NamedTuple):
    """Where output goes. `width` is None where lines may be as long as they are, `moves` says whether what was written
    can be written over."""

    width: int | None = None
    colours: bool = False
    moves: bool = False

    def paint(self, text: str, meaning: Meaning) -> str:
        """The text in the colour of what it means."""
        return f"\x1b[{_CODES[meaning]}m{text}{_RESET}" if self.colours and meaning and text else text

    def prefix(self, text: str, number: int) -> str:
        """The name before a line, in a colour of its own."""
        return f"\x1b[{_PREFIXES[number % len(_PREFIXES)]}m{text}{_RESET}" if self.colours else text

    def echo(self, text: str = "", *, err: bool = False) -> None:
        echo(text, err=err, colours=self.colours)


def terminal(stream: IO[Any] | None = None, environ: Mapping[str, str] = os.environ) -> Terminal:
    """What the standard output (or another stream) is."""
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
    """How wide a terminal is: as COLUMNS says, as it says itself, or as most of them were once."""
    said = environ.get("COLUMNS", "")
    if said.isdigit() and int(said):
        return int(said)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_COLUMNS
    except OSError:
        return _USUAL_COLUMNS


def meaning_of(word: str) -> Meaning:
    """What the word for a state means: `Running` is good, `Pending` will pass, `Failed` is bad."""
    return _MEANINGS.get(word.lower(), "")


def echo(text: object = "", *, err: bool = False, nl: bool = True, colours: bool | None = None) -> None:
    """Prints a text that may have anything in it. On a terminal only colours, tabs and ends of lines have an effect;
    a file or a pipe gets the text as it is."""
    shown = str(text)
    if (sys.stderr if err else sys.stdout).isatty():
        shown = shown_on_terminal(shown)
    click.echo(shown, err=err, nl=nl, color=colours)


def shown_on_terminal(text: str) -> str:
    """A text in which no command to a terminal is left but those for colours."""
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
    """A text of which nothing reaches the terminal as a command to it, and nothing is shown where it is not."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x80:
        return f"^{chr(code ^ 0x40)}"
    return "?" if code < 0xA0 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width_of(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """The beginning of a text, with an ellipsis where something is missing."""
    if width_of(text) <= width:
        return text
    kept, taken = [], 0
    for char in text:
        taken += _columns(char)
        if taken > width - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"
