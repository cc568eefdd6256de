"""What controllers print and log, line by line, with the name of the controller that did.

Whose reconcile prints is known from the context it runs in, which threads of `ctx.in_thread` have as well. Of our own
loggers only warnings are passed on; that a reconcile failed is told in another way, with the place in the file.
"""

import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TextIO

from setpoint.session.controllers.messages import Line

Send = Callable[[Line], None]
# Whose reconcile runs.
current: ContextVar[str] = ContextVar("current", default="")
# The words of a reconcile that failed, with a stack: we tell that without one.
_OUTCOME = "setpoint.controller.outcome"
_OURS = "setpoint"
# Longer lines, and such as do not end, are passed on in pieces.
_LONGEST = 16384


class Printed(io.TextIOBase):
    """In the place of `sys.stdout` or `sys.stderr`. What goes around it, to the descriptor, goes where it went."""

    encoding = "utf-8"

    def __init__(self, send: Send, instead_of: TextIO, *, error: bool) -> None:
        self._send, self._instead_of, self._error = send, instead_of, error
        self._begun: dict[str, str] = {}

    @property
    def buffer(self) -> object:
        return self._instead_of.buffer

    def fileno(self) -> int:
        return self._instead_of.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        controller = current.get()
        *lines, rest = (self._begun.pop(controller, "") + text).split("\n")
        if len(rest) > _LONGEST:
            lines, rest = [*lines, rest], ""
        for piece in _pieces(lines):
            self._send(Line(controller, piece, self._error))
        if rest:
            self._begun[controller] = rest
        return len(text)

    def finish(self) -> None:
        """Passes on lines that have not ended."""
        for controller, rest in self._begun.items():
            self._send(Line(controller, rest, self._error))
        self._begun.clear()


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from (line[start : start + _LONGEST] for start in range(0, max(len(line), 1), _LONGEST))


class LogLines(logging.Handler):
    """Passes records of the log on as lines."""

    def __init__(self, send: Send) -> None:
        super().__init__(logging.INFO)
        self._send = send
        self.setFormatter(logging.Formatter("%(message)s"))

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == _OUTCOME or not super().filter(record):
            return False
        is_theirs = hasattr(record, "reconcile_id") or record.name.partition(".")[0] != _OURS
        return is_theirs or record.levelno >= logging.WARNING

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception as error:  # the arguments do not fit the text
            text = f"a line of the log could not be written ({type(error).__name__}: {error}): {record.msg}"
        matters = record.levelno >= logging.WARNING
        if matters:
            text = f"{record.levelname}: {text}"
        controller = getattr(record, "controller", "") or current.get()
        for piece in _pieces(text.splitlines() or [""]):
            self._send(Line(controller, piece, matters))


def follow_log(send: Send) -> None:
    """Has what is logged passed on, from INFO up."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(LogLines(send))


def follow_printing(send: Send) -> Callable[[], None]:
    """Has what is printed passed on. What is returned passes on the beginnings of lines, at the end."""
    out, err = sys.stdout, sys.stderr
    printed = [Printed(send, out, error=False), Printed(send, err, error=True)]
    sys.stdout, sys.stderr = printed

    def finish() -> None:
        for each in printed:
            each.finish()

    return finish
