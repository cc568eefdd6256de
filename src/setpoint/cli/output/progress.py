"""A progress line on stderr for operations that take more than a second. The line is erased at the end."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from setpoint.cli.output.terminal import shortened, terminal
from setpoint.objects.clock import Clock

_LATE_SECONDS = 1.0
_STEP_SECONDS = 0.2
_SIGNS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """The text of a progress line; callers may update the text."""

    def __init__(self, text: str) -> None:
        self.text = text


@asynccontextmanager
async def progress(text: str, clock: Clock) -> AsyncIterator[ProgressLine]:
    """Shows the text with the elapsed seconds, after one second, if stderr is a terminal."""
    shown = ProgressLine(text)
    if not sys.stderr.isatty():
        yield shown
        return
    showing = asyncio.ensure_future(_show(shown, clock))
    try:
        yield shown
    finally:
        showing.cancel()
        await asyncio.wait((showing,))


async def _show(shown: ProgressLine, clock: Clock) -> None:
    started = clock.monotonic()
    await clock.sleep(_LATE_SECONDS)
    try:
        step = 0
        while True:
            place = terminal(sys.stderr)
            sign = _SIGNS[step % len(_SIGNS)]
            seconds = int(clock.monotonic() - started)
            line = shortened(f"{sign} {shown.text} ({seconds}s)", (place.width or 80) - 1)
            sys.stderr.write(_CLEAR + place.paint(line, "quiet"))
            sys.stderr.flush()
            step += 1
            await clock.sleep(_STEP_SECONDS)
    finally:
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()
