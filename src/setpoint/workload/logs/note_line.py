"""The lines of the log `system`: plain text, or the format that clients of DCP parse.

DCP's lines have fields separated by tabs: the time (if requested), the level, the category and the message. Further
lines of a message follow as a JSON object with the field `error`, so that each message stays one line.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

INFO, ERROR = "info", "error"


class Note(NamedTuple):
    """A message of the control plane about an object. `kind` is the kind of the object, or empty."""

    text: str
    kind: str = ""
    level: str = INFO


class NoteFormat(NamedTuple):
    """The format of notes: `line` returns a note as text, without the last line feed; `after_time` separates the time
    of a line from the line."""

    line: Callable[[Note], str]
    after_time: bytes


def _dcp_line(note: Note) -> str:
    """Returns a note as a line of DCP's log, without its time."""
    message, _, rest = note.text.replace("\t", " ").partition("\n")
    fields = [note.level, f"{note.kind}Reconciler" if note.kind else "dcp", message.rstrip("\r")]
    if rest:
        fields.append(msgspec.json.encode({"error": rest}).decode())
    return "\t".join(fields)


PLAIN = NoteFormat(lambda note: note.text, b" ")
DCP = NoteFormat(_dcp_line, b"\t")
