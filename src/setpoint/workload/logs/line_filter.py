"""Selects lines by a pattern and a level, and renders them. No I/O.

Patterns have RE2's syntax and are matched in time linear in the line. A line without a level has that of the line
before, so that a stack trace belongs to its error.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from setpoint.schema.regex import matcher
from setpoint.workload.logs.line_parser import LEVELS, parse_line, rendered
from setpoint.workload.logs.options import LogOptions

# Patterns are matched against the start of longer lines.
LONGEST_MATCHED = 64 << 10


class LogLine(NamedTuple):
    """A line of a log, without its line end: its time as text, the name of its object, and its source."""

    time: bytes
    name: str
    source: str
    data: bytes


class LineFilter:
    """Selects and renders the lines of one stream after the other."""

    def __init__(self, options: LogOptions) -> None:
        pattern = f"(?i){options.grep}" if options.ignore_case else options.grep
        self._matches = matcher(pattern) if options.grep else None
        self._invert = options.invert
        self._least = LEVELS.index(options.level) if options.level else 0
        self._options = options
        # The level of the last line of each object and source.
        self._levels: dict[tuple[str, str], str] = {}

    def accepts(self, line: LogLine) -> bool:
        """Returns True if a line is requested."""
        text = line.data[:LONGEST_MATCHED].decode("utf-8", "replace")
        if self._least and LEVELS.index(self.level(line, text)) < self._least:
            return False
        return self._matches is None or bool(self._matches(text)) != self._invert

    def level(self, line: LogLine, text: str) -> str:
        """Returns the level of a line, by default that of the line before, or `info`."""
        key = line.name, line.source
        found = parse_line(text).level or self._levels.get(key, "info")
        self._levels[key] = found
        return found

    def render(self, line: LogLine, attempt: int) -> bytes:
        """Returns a line in the requested format, with its line end."""
        options, text = self._options, line.data.decode("utf-8", "replace")
        if options.format == "json":
            parsed = parse_line(text)
            record = {
                "time": line.time.decode(),
                "name": line.name,
                "source": line.source,
                "attempt": attempt,
                "level": self._levels.get((line.name, line.source), "") or parsed.level,
                "message": parsed.message,
                "fields": _selected(parsed.fields, options.fields),
                "line": text,
            }
            return msgspec.json.encode(record) + b"\n"
        data = rendered(text, options.fields).encode() if options.format == "text" else line.data
        time = line.time + b" " if options.timestamps else b""
        source = f"{line.source} ".encode() if options.sources else b""
        name = f"{line.name} | ".encode() if options.names else b""
        return time + source + name + data + b"\n"


def _selected(fields: Mapping[str, Any], names: tuple[str, ...] | None) -> Mapping[str, Any]:
    if names is None:
        return fields
    return {name: fields[name] for name in names if name in fields}
