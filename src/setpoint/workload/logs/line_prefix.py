"""Selects the requested lines of the output, and prefixes them with numbers and times.

Works on pieces of any size, and processes single lines only if an option requires so.
"""

from datetime import UTC, datetime

from setpoint.workload.logs.options import LogOptions
from setpoint.workload.logs.segment import after_newlines


class Marks:
    """The selection and prefixes: the first `drop` lines and those from `until` on (in µs) are omitted."""

    def __init__(self, options: LogOptions, *, number: int, drop: int, until: int | None) -> None:
        self._numbers, self._times = options.line_numbers, options.timestamps
        self._number, self._drop, self._until = number, drop, until
        self._left = options.limit
        self._at_start = True
        self._time = -1
        self._time_text = b""
        self._after_time = options.after_time
        # True: no more output is requested.
        self.full = False

    def mark(self, time: int, data: bytes) -> bytes:
        if self._drop:
            data = self._dropped(data)
        if self._until is not None and time >= self._until:
            data = self._until_line_ends(data)
        if self._left is not None:
            data = self._limited(data, self._left)
        if not data:
            return data
        at_start, self._at_start = self._at_start, data.endswith(b"\n")
        return self._marked(time, data, at_start) if self._numbers or self._times else data

    def _dropped(self, data: bytes) -> bytes:
        lines = data.count(b"\n")
        if lines < self._drop:
            self._drop -= lines
            self._number += lines
            return b""
        place = after_newlines(data, self._drop)
        self._number += self._drop
        self._drop = 0
        return data[place:]

    def _until_line_ends(self, data: bytes) -> bytes:
        """Returns the rest of a line that began before `until`."""
        self.full = True
        return data[: data.find(b"\n") + 1] if not self._at_start else b""

    def _limited(self, data: bytes, left: int) -> bytes:
        lines = data.count(b"\n")
        if lines < left:
            self._left = left - lines
            return data
        self.full = True
        return data[: after_newlines(data, left)]

    def _marked(self, time: int, data: bytes, at_start: bool) -> bytes:
        text = self._text_of(time) if self._times else b""
        ended = data.endswith(b"\n")
        lines = data.split(b"\n")
        if ended:
            lines.pop()
        parts: list[bytes] = []
        for place, line in enumerate(lines):
            if place or at_start:
                if self._numbers:
                    parts.append(b"%d " % self._number)
                parts.append(text)
            parts += (line, b"\n")
            self._number += 1
        if not ended:
            parts.pop()
            self._number -= 1
        return b"".join(parts)

    def _text_of(self, time: int) -> bytes:
        if time != self._time:
            self._time = time
            moment = datetime.fromtimestamp(time // 1000 / 1000, UTC)
            self._time_text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
            self._time_text += self._after_time
        return self._time_text
