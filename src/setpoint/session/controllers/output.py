"""Captures the output and log lines of controllers, with the name of the controller.

The controller is known from the context of its reconcile, also in threads of `ctx.in_thread`. Of Setpoint's own loggers
only warnings are captured; failed reconciles are reported separately, with their location.
"""

import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TextIO

from setpoint.session.controllers.messages import PrintedLine

Send = Callable[[PrintedLine], None]
# The controller of the running reconcile.
current: ContextVar[str] = ContextVar("current", default="")
# The logger of failed reconciles with tracebacks, which are reported separately.
_OUTCOME = "setpoint.controller.outcome"
_OURS = "setpoint"
# Longer lines, and output without line ends, are split.
_LONGEST = 16384


class Printed(io.TextIOBase):
    """Replaces `sys.stdout` or `sys.stderr`. Output written directly to the descriptor is not captured."""

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
            self._send(PrintedLine(controller, piece, self._error))
        if rest:
            self._begun[controller] = rest
        return len(text)

    def finish(self) -> None:
        """Sends incomplete lines."""
        for controller, rest in self._begun.items():
            self._send(PrintedLine(controller, rest, self._error))
        self._begun.clear()


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from (line[start : start + _LONGEST] for start in range(0, max(len(line), 1), _LONGEST))


class LogLines(logging.Handler):
    """Sends log records as lines."""

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
        except Exception as error:  # the arguments do not match the format
            text = f"invalid log record ({type(error).__name__}: {error}): {record.msg}"
        matters = record.levelno >= logging.WARNING
        if matters:
            text = f"{record.levelname}: {text}"
        controller = getattr(record, "controller", "") or current.get()
        for piece in _pieces(text.splitlines() or [""]):
            self._send(PrintedLine(controller, piece, matters))


def follow_log(send: Send) -> None:
    """Captures log records of level INFO and above."""
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(LogLines(send))


def follow_printing(send: Send) -> Callable[[], None]:
    """Captures printed output. Returns a function that sends incomplete lines at the end."""
    out, err = sys.stdout, sys.stderr
    printed = [Printed(send, out, error=False), Printed(send, err, error=True)]
    sys.stdout, sys.stderr = printed

    def finish() -> None:
        for each in printed:
            each.finish()

    return finish
