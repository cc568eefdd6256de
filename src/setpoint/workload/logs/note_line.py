"""The lines of the log `system`: plain text, or the format that clients of DCP parse.

DCP's lines have four fields separated by tabs: the time, the level, the category and the message. Further lines of a
message follow as a JSON object with the field `error`, so that each message stays one line.
"""

from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import msgspec

INFO, ERROR = "info", "error"


class Note(NamedTuple):
    """A message of the control plane about an object. `kind` is the kind of the object, or empty."""

    text: str
    kind: str = ""
    level: str = INFO


class NoteLine(Protocol):
    """Returns a note as one or several lines, without the last line feed."""

    def __call__(self, note: Note, at: datetime) -> str: ...


def plain_line(note: Note, at: datetime) -> str:
    """Returns the text of a note."""
    return note.text


def dcp_line(note: Note, at: datetime) -> str:
    """Returns a note as a line of DCP's log."""
    moment = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    category = f"dcp.{note.kind}Reconciler" if note.kind else "dcp"
    message, _, rest = note.text.replace("\t", " ").partition("\n")
    fields = [moment, note.level, category, message.rstrip("\r")]
    if rest:
        fields.append(msgspec.json.encode({"error": rest}).decode())
    return "\t".join(fields)
