"""Detects blocked event loops: a thread checks every second that the loop runs, and locates the blocking code."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from setpoint.controller.controller import Controller
from setpoint.controller.project_code import frames, is_own, shown
from setpoint.objects.clock import Clock

LOOK_SECONDS = 1.0
# The time for which a past block is still reported.
REMEMBER_SECONDS = 60.0
REMEDY = "define the function with `def` instead of `async def`, or use `await ctx.in_thread(…)` there"

_log = logging.getLogger(__name__)


class Block(NamedTuple):
    """A block of the event loop by a controller. `until` is None while still blocked."""

    controller: str
    object: str
    where: str
    since: float
    until: float | None = None


def log_block(block: Block, seconds: float) -> None:
    """Logs a block, with the file, the line and the remedy."""
    about = f"{block.controller} {block.object} " if block.controller else ""
    at = f" at {block.where}" if block.where else ""
    _log.warning("%sblocks the event loop for %.1f s%s: %s", about, seconds, at, REMEDY)


class LoopMonitor:
    """Monitors the loop of the creating thread. Calls `notify` with a block and its seconds so far, in another thread.

    monitor = LoopMonitor(clock, Path.cwd())
    monitor.start()
    """

    def __init__(
        self,
        clock: Clock,
        directory: Path,
        notify: Callable[[Block, float], None] = log_block,
    ) -> None:
        self._clock, self._directory, self._notify = clock, directory, notify
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._monitor, name="setpoint-loop-monitor", daemon=True)
        self.last: Block | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def blocks(self, controller: str) -> bool:
        """Returns True if this controller blocks the loop now."""
        return self.last is not None and self.last.until is None and self.last.controller == controller

    def note(self, controller: str) -> str:
        """Returns a note about a controller that blocks the loop or did so recently; empty otherwise."""
        block = self.last
        if block is None or controller != block.controller:
            return ""
        now = self._clock.monotonic()
        at = f" at {block.where}" if block.where else ""
        if block.until is None:
            return f"has been blocking its worker process for {now - block.since:.0f} s{at}: {REMEDY}"
        if now - block.until > REMEMBER_SECONDS:
            return ""
        return f"blocked its worker process for {block.until - block.since:.1f} s{at}: {REMEDY}"

    def _monitor(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            turned, since = threading.Event(), self._clock.monotonic()
            try:
                self._loop.call_soon_threadsafe(turned.set)
            except RuntimeError:
                return  # the loop is closed
            if turned.wait(LOOK_SECONDS):
                continue
            block = self._where(since)
            is_ours = block.controller or block.where  # otherwise the machine is overloaded
            if is_ours and not self._ended.is_set():
                self.last = block
                self._notify(block, self._clock.monotonic() - since)
            while not turned.wait(LOOK_SECONDS):
                if self._ended.is_set():
                    return
            if is_ours:
                self.last = block._replace(until=self._clock.monotonic())

    def _where(self, since: float) -> Block:
        """Returns the blocking controller, and the innermost location in the project's code."""
        controller = about = where = ""
        for frame in frames(sys._current_frames().get(self._thread_id)):
            if not where and is_own(frame.f_code.co_filename):
                where = f"{shown(frame.f_code.co_filename, self._directory)}:{frame.f_lineno}"
            if frame.f_code is Controller._execute.__code__:
                run = frame.f_locals["run"]
                controller, about = run.controller, str(run.request)
                break
        return Block(controller, about, where, since)
